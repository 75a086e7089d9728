//! Downloads files over HTTP, a few at a time, each with a time limit. The server runs in the same program, on the loopback
//! interface; it counts how many downloads it serves at once, and one of its files never ends.
//!
//! `cargo run --release --example downloads`

use std::io::{self, Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use async_net::{TcpListener, TcpStream};
use futures_lite::StreamExt;
use futures_lite::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use leno::fiber::{CancelToken, FutureExt, map_concurrent};
use leno::{sleep, spawn, timeout};

const FILES: usize = 24;
const AT_ONCE: usize = 4;
/// What one download may take.
const LIMIT: Duration = Duration::from_secs(1);

/// A file that never ends, and one that does not exist.
const ENDLESS: usize = 9;
const MISSING: usize = 17;

fn main() -> io::Result<()> {
    leno::block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let load = Arc::new(Load::default());
        let server = spawn(serve(listener, Arc::clone(&load)));

        // No fiber for each: they wait for the network, side by side in this one. As soon as one is done, in
        // whatever way, the next one begins, and its time with it.
        let downloads = map_concurrent(0..FILES, AT_ONCE, |n| timeout(LIMIT, download(address, n)));
        let (files, took) = downloads.timed().await;
        // Its connections are its children, and go with it.
        server.cancel();
        match server.await {
            Ok(ended) => ended?,
            Err(e) => assert!(e.is_cancelled(), "the server: {e}"),
        }

        let mut bytes = 0;
        for (n, file) in files.iter().enumerate() {
            match file {
                Ok(Ok(body)) => {
                    assert!(*body == contents(n), "file {n} is not what the server has");
                    bytes += body.len();
                }
                Ok(Err(e)) => println!("file {n}: {e}"),
                Err(elapsed) => println!("file {n}: {elapsed}"),
            }
        }
        let most = load.most.load(SeqCst);
        println!("{bytes} bytes in {took:.0?}, up to {most} downloads at once");
        let missed: Vec<usize> = (0..FILES).filter(|&n| !matches!(files[n], Ok(Ok(_)))).collect();
        assert_eq!(missed, [ENDLESS, MISSING]);
        assert!(files[ENDLESS].is_err() && files[MISSING].is_ok(), "the one took too long, the other failed");
        assert_eq!(most, AT_ONCE);
        Ok(())
    })
}

/// GETs one file.
async fn download(address: SocketAddr, n: usize) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /{n} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;

    let mut reader = BufReader::new(stream);
    let head = head(&mut reader).await?;
    let problem = |what: String| Err(Error::new(ErrorKind::InvalidData, what));
    if head[0] != "HTTP/1.1 200 OK" {
        return problem(format!("the server says {:?}", head[0]));
    }
    let length = head.iter().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
    let Some(length) = length else {
        return problem(format!("the server does not say how long it is: {head:?}"));
    };
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).await?;
    if body.len() as u64 == length { Ok(body) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

/// The lines up to the empty one, at least one.
async fn head(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<String>> {
    let mut head = Vec::new();
    let mut lines = reader.lines();
    while let Some(line) = lines.next().await.transpose()? {
        if line.is_empty() && !head.is_empty() {
            return Ok(head);
        }
        head.push(line);
    }
    Err(ErrorKind::UnexpectedEof.into())
}

fn contents(n: usize) -> Vec<u8> {
    (0..(n + 1) * 1000).map(|i| (i * (2 * n + 1) / 7) as u8).collect()
}

/// How many downloads are being served.
#[derive(Default)]
struct Load {
    now: AtomicUsize,
    most: AtomicUsize,
    /// Cancelled once there have been as many as there are to be.
    full: CancelToken,
}

impl Load {
    fn begin(&self) {
        let now = self.now.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(now, SeqCst);
        if now == AT_ONCE {
            self.full.cancel();
        }
    }

    /// Before a client can know that its download is over, and begin the next.
    fn end(&self) {
        self.now.fetch_sub(1, SeqCst);
    }
}

async fn serve(listener: TcpListener, load: Arc<Load>) -> io::Result<()> {
    loop {
        let (stream, peer) = listener.accept().await?;
        let load = Arc::clone(&load);
        spawn(async move {
            if let Err(e) = answer(stream, &load).await {
                eprintln!("downloads: the server and {peer}: {e}");
            }
        });
    }
}

async fn answer(mut stream: TcpStream, load: &Load) -> io::Result<()> {
    let request = head(&mut BufReader::new(stream.clone())).await?;
    let path = request[0].strip_prefix("GET /").and_then(|rest| rest.strip_suffix(" HTTP/1.1"));
    let file = path.and_then(|path| path.parse().ok()).filter(|&n: &usize| n < FILES && n != MISSING);
    load.begin();
    // It answers only once so many have asked: fewer at a time would wait for ever.
    load.full.cancelled().await;
    let Some(n) = file else {
        load.end();
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
    };
    let body = contents(n);
    stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes()).await?;
    // All but a little, over a slow line.
    let (most, rest) = body.split_at(body.len() - 1);
    for part in most.chunks(4096) {
        sleep(Duration::from_millis(1)).await;
        stream.write_all(part).await?;
    }
    load.end();
    if n == ENDLESS {
        // Until the client has had enough.
        stream.read(&mut [0]).await?;
        return Ok(());
    }
    stream.write_all(rest).await
}
