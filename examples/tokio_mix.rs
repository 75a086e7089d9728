//! One channel between three worlds: a tokio task, a fiber and a plain thread send, the main thread receives.
//!
//! `cargo run --example tokio_mix`

use std::thread;

use leno::rendezvous;

fn main() {
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a tokio runtime");
    let (sender, receiver) = rendezvous();

    // A task of another executor: leno's futures are ordinary futures.
    let task = tokio.spawn({
        let sender = sender.clone();
        async move {
            for n in 0..3 {
                sender.send(format!("tokio task {n}")).await.expect("main receives to the end");
            }
        }
    });

    // A fiber on leno's default runtime, which starts at this first use.
    let fiber = leno::spawn({
        let sender = sender.clone();
        async move {
            for n in 0..3 {
                sender.send(format!("fiber {n}")).await.expect("main receives to the end");
            }
        }
    });

    // A thread: the same handles with blocking calls.
    let thread = thread::spawn(move || {
        for n in 0..3 {
            sender.send_blocking(format!("thread {n}")).expect("main receives to the end");
        }
    });

    // Ends when all three senders are gone.
    let mut lines = 0;
    for line in &receiver {
        println!("{line}");
        lines += 1;
    }
    assert_eq!(lines, 9, "three from each");
    thread.join().expect("the thread does not panic");
    tokio.block_on(task).expect("the task does not panic");
    fiber.wait().expect("the fiber does not panic");
}
