//! A chat room over TCP. leno has no I/O of its own: the sockets are async-net's, which work on any executor; the room (who is
//! here, and who hears what) is made of leno's channels.
//!
//! * `cargo run --example chat` starts a room and a few guests on the loopback interface, lets them talk, and checks
//!   that everybody heard everything.
//! * `cargo run --example chat -- 127.0.0.1:7000` serves until it is interrupted; talk to it with `nc 127.0.0.1 7000`.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_net::{TcpListener, TcpStream};
use futures_lite::StreamExt;
use futures_lite::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use leno::fiber::try_join_all;
use leno::{Receiver, Sender, bounded, rendezvous, select, sleep, spawn, timeout};

const GUESTS: usize = 8;
const LINES: usize = 25;

/// How many lines a guest may lag behind; one that lags further is disconnected, so that nobody else waits for it.
const LAG: usize = 1024;
/// How long it may take to read a line.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long guests may stay after closing time.
const GRACE: Duration = Duration::from_secs(5);

type Line = Arc<str>;

/// What guests tell the broker.
enum Event {
    Came(SocketAddr, Sender<Line>),
    Said(SocketAddr, String),
    Left(SocketAddr),
}

fn main() -> io::Result<()> {
    leno::block_on(async {
        match std::env::args().nth(1) {
            Some(address) => {
                let listener = TcpListener::bind(&address).await?;
                println!("listening on {}", listener.local_addr()?);
                let (_open, closing) = rendezvous();
                serve(listener, closing).await;
                Ok(())
            }
            None => party().await,
        }
    })
}

/// Serves until `closing` is closed, and the last guest has left or been shown out.
async fn serve(listener: TcpListener, closing: Receiver<()>) {
    let (tell, events) = bounded(64);
    let broker = spawn(broker(events));
    loop {
        select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => drop(spawn(guest(stream, address, tell.clone()))),
                // This guest has not come in; others may.
                Err(e) => {
                    eprintln!("chat: {e}");
                    sleep(Duration::from_millis(100)).await;
                }
            },
            // A message, or a closed channel: either way, stop.
            _ = closing.recv() => break,
        }
    }
    drop(tell);
    // The guests that are left then go with this fiber, whose children they are.
    if let Ok(ended) = timeout(GRACE, broker).await {
        ended.expect("the broker does not panic");
    }
}

/// Knows who is here, and passes on what is said; ends with the last guest.
async fn broker(events: Receiver<Event>) {
    let mut guests = BTreeMap::<SocketAddr, Sender<Line>>::new();
    while let Ok(event) = events.recv().await {
        let line: Line = match event {
            Event::Came(address, guest) => {
                guests.insert(address, guest);
                format!("* {address} came, {} here\n", guests.len()).into()
            }
            Event::Said(address, text) => format!("{address}: {text}\n").into(),
            Event::Left(address) => {
                if guests.remove(&address).is_none() {
                    continue;
                }
                format!("* {address} left\n").into()
            }
        };
        // The broker never waits for a guest: whose channel is full, or closed, has to go.
        guests.retain(|_, guest| guest.try_send(Arc::clone(&line)).is_ok());
    }
}

/// One guest: what it types goes to the broker, what the broker sends goes to it.
async fn guest(stream: TcpStream, address: SocketAddr, tell: Sender<Event>) {
    let (hear, heard) = bounded(LAG);
    if tell.send(Event::Came(address, hear)).await.is_err() {
        return;
    }
    let mut typed = BufReader::new(stream.clone()).lines();
    let mut stream = stream;
    loop {
        select! {
            line = typed.next() => match line {
                Some(Ok(line)) => {
                    if tell.send(Event::Said(address, line)).await.is_err() {
                        break;
                    }
                }
                Some(Err(_)) | None => break,
            },
            line = heard.recv() => match line {
                Ok(line) => {
                    if !matches!(timeout(PATIENCE, stream.write_all(line.as_bytes())).await, Ok(Ok(()))) {
                        break;
                    }
                }
                // Shown out.
                Err(_) => break,
            },
        }
    }
    let _ = tell.send(Event::Left(address)).await;
}

/// A room with guests who talk, and count what they hear.
async fn party() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (closing, closed) = rendezvous();
    let room = spawn(serve(listener, closed));
    let (here, arrivals) = bounded(GUESTS);
    let guests = (0..GUESTS).map(|_| spawn(talk(address, here.clone())).cancel_on_drop()).collect::<Vec<_>>();
    drop(here);

    // Nobody talks before everybody is there (or has failed, which its handle tells).
    let mut starts = Vec::new();
    while let Ok(start) = arrivals.recv().await {
        starts.push(start);
    }
    if starts.len() == GUESTS {
        for start in starts {
            start.send(()).await.expect("the guest waits for it");
        }
    }
    // The first one that fails ends the party: the others would wait for what it has not said.
    let told = guests.into_iter().map(async |guest| guest.await.expect("guests do not panic"));
    let heard: usize = try_join_all(told).await?.into_iter().sum();
    drop(closing);
    room.await.expect("the room does not panic");
    println!("{GUESTS} guests said {LINES} lines each, and heard {heard} in all");
    assert_eq!(heard, GUESTS * GUESTS * LINES, "everybody hears everything");
    Ok(())
}

/// Comes, says some lines once everybody is there, and stays until it has heard all.
async fn talk(address: SocketAddr, here: Sender<Sender<()>>) -> io::Result<usize> {
    let mut stream = TcpStream::connect(address).await?;
    let mut lines = BufReader::new(stream.clone()).lines();
    // The first line is about its own arrival.
    lines.next().await.transpose()?;
    let (start, started) = rendezvous();
    here.send(start).await.expect("the party goes on");
    // Whoever counts the arrivals learns when there are no more.
    drop(here);
    started.recv().await.map_err(|_| io::Error::other("somebody has not come"))?;
    for n in 0..LINES {
        stream.write_all(format!("line {n}\n").as_bytes()).await?;
    }
    let mut heard = 0;
    while heard < GUESTS * LINES {
        match lines.next().await.transpose()? {
            Some(line) if line.starts_with('*') => {}
            Some(_) => heard += 1,
            None => break,
        }
    }
    Ok(heard)
}
