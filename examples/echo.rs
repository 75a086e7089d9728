//! A TCP echo server that shuts down gracefully: what it has read by then is sent back. The sockets are async-net's; the
//! connections are fibers of a scope, which ends with the last of them.
//!
//! * `cargo run --release --example echo` starts the server on the loopback interface, and clients that check what
//!   comes back; some of them never hang up, so that the server has to.
//! * `cargo run --release --example echo -- 127.0.0.1:7000` serves until stdin yields a line or ends; talk to it with
//!   `nc 127.0.0.1 7000`.

use std::io::{self, Error, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_net::{TcpListener, TcpStream};
use futures_lite::future::try_zip;
use futures_lite::io::{AsyncReadExt, AsyncWriteExt};
use leno::fiber::{CancelToken, Either, race, scope, try_scope, unblock};
use leno::{Sender, bounded, select, sleep, spawn, timeout};

const CLIENTS: usize = 40;
/// Clients who stay connected until the server hangs up.
const STAYING: usize = 10;
const BYTES_EACH: usize = 200_000;
/// What a client waits at most until all is over.
const PATIENCE: Duration = Duration::from_secs(10);

/// Once the server is to end, a connection from which nothing has come for so long is closed.
const QUIET: Duration = Duration::from_millis(100);
/// And after so long all others are.
const GRACE: Duration = Duration::from_secs(5);

fn main() -> io::Result<()> {
    leno::block_on(async {
        match std::env::args().nth(1) {
            Some(address) => {
                let listener = TcpListener::bind(&address).await?;
                println!("listening on {}", listener.local_addr()?);
                let closing = CancelToken::new();
                let mut server = spawn(serve(listener, closing.clone()));
                select! {
                    // It cannot go on.
                    ended = &mut server => return ended.expect("the server does not panic").map(drop),
                    line = unblock(|| io::stdin().read_line(&mut String::new())) => _ = line?,
                }
                closing.cancel();
                let bytes = server.await.expect("the server does not panic")?;
                println!("{bytes} bytes sent back");
                Ok(())
            }
            None => check_itself().await,
        }
    })
}

/// Serves until `closing` is cancelled and the connections have ended, or had their time; gives the number of bytes sent back.
async fn serve(listener: TcpListener, closing: CancelToken) -> io::Result<u64> {
    let total = Arc::new(AtomicU64::new(0));
    let serving = scope(async |connections| {
        // The token ends the loop, not the scope: the connections look at it, too, and end when they are ready to.
        while let Some(accepted) = closing.run_until_cancelled(listener.accept()).await {
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(e) => {
                    closing.cancel();
                    return Err(e);
                }
            };
            let (total, closing) = (Arc::clone(&total), closing.clone());
            connections.spawn(async move {
                // A connection that breaks does not end the server.
                if let Err(e) = echo(stream, &closing, &total).await {
                    eprintln!("echo: {peer}: {e}");
                }
            });
        }
        io::Result::Ok(())
    });
    let too_late = async {
        closing.cancelled().await;
        sleep(GRACE).await;
    };
    if let Either::Left(ended) = race(serving, too_late).await {
        ended.expect("no connection panics, and nobody cancels the scope")?;
    }
    Ok(total.load(Relaxed))
}

/// Sends back what comes, until the client has sent all, or the server ends and the client is quiet.
async fn echo(mut stream: TcpStream, closing: &CancelToken, total: &AtomicU64) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = match closing.run_until_cancelled(stream.read(&mut buffer)).await {
            Some(read) => read?,
            // A cancelled read has taken nothing. What is still on its way gets its answer, too.
            None => match timeout(QUIET, stream.read(&mut buffer)).await {
                Ok(read) => read?,
                Err(_quiet) => 0,
            },
        };
        if read == 0 {
            break;
        }
        // Not to be cut short by the token: what was read is sent back.
        stream.write_all(&buffer[..read]).await?;
        total.fetch_add(read as u64, Relaxed);
    }
    stream.shutdown(Shutdown::Write)
}

async fn check_itself() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let closing = CancelToken::new();
    // If a client fails, and this with it, the server ends as well.
    let guard = closing.clone().drop_guard();
    let server = spawn(serve(listener, closing));

    let (served, answers) = bounded(CLIENTS);
    let clients = spawn(async move {
        try_scope(async |clients| {
            for seed in 0..CLIENTS {
                let client = timeout(PATIENCE, client(address, seed, served.clone()));
                clients.spawn(async { client.await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())) });
            }
            // Our own would keep the channel open.
            drop(served);
            Ok::<_, Error>(())
        })
        .await
    });
    let mut answered = 0;
    // (It ends early if one of them has failed, which says below why.)
    while answered < CLIENTS && answers.recv().await.is_ok() {
        answered += 1;
    }
    println!("{answered} clients have their answers; {STAYING} of {CLIENTS} do not hang up");
    drop(guard);
    clients.await.expect("no client is cancelled").expect("no client panics")?;
    let bytes = server.await.expect("the server does not panic")?;
    println!("{bytes} bytes sent back, and the server has ended");
    assert_eq!(bytes, (CLIENTS * BYTES_EACH) as u64);
    Ok(())
}

/// Sends its bytes, checks that they come back, and that the server then hangs up.
async fn client(address: SocketAddr, seed: usize, served: Sender<()>) -> io::Result<()> {
    let bytes: Vec<u8> = (0..BYTES_EACH).map(|i| (i * (2 * seed + 1) / 7) as u8).collect();
    let mut stream = TcpStream::connect(address).await?;
    let mut outwards = stream.clone();
    let mut back = vec![0; BYTES_EACH];
    // Both at once: who sends without reading waits for a server that waits for room to send back.
    try_zip(outwards.write_all(&bytes), stream.read_exact(&mut back)).await?;
    if back != bytes {
        return Err(Error::new(ErrorKind::InvalidData, "what came back is not what was sent"));
    }
    if seed >= STAYING {
        stream.shutdown(Shutdown::Write)?;
    }
    served.send(()).await.expect("they are counted until all are served");
    match stream.read(&mut back).await? {
        0 => Ok(()),
        n => Err(Error::new(ErrorKind::InvalidData, format!("{n} bytes more than were sent"))),
    }
}
