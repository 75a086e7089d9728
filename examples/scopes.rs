//! A shop that takes orders. Each order is a fiber of the shop's scope: it queries three backends at once, and then takes the
//! goods and charges for them, both or neither, no matter who gives up meanwhile: a backend, the customer, or the shop.
//!
//! * The backends are asked in a `try_scope`: the first that fails ends the others' work.
//! * A customer may leave while the backends are being asked: a `CancelToken` below the shop's.
//! * The two steps of the purchase are under a `shield`: a shop that closes waits for them to end.
//! * What is logged says which order it is about, by a fiber-local number that children inherit.
//!
//! `cargo run --release --example scopes`

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use leno::fiber::{CancelToken, scope, shield, try_scope};
use leno::{Receiver, Sender, sleep, timeout, unbounded};

leno::fiber_local! {
    /// The order that this fiber works for.
    inherited static ORDER: u32 = 0;
}

/// How the backends will behave.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Fine,
    /// There are no goods.
    SoldOut,
    /// One of them never answers.
    Stuck,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Refused {
    SoldOut,
    CustomerLeft,
}

const ALONE: &str = "nobody panics, or is cancelled alone";

/// What there is beside the orders.
struct Shop {
    goods_taken: AtomicU32,
    charged: AtomicU32,
    log: Sender<String>,
}

impl Shop {
    fn log(&self, text: &str) {
        let line = format!("order {}: {text}", ORDER.get());
        println!("{line}");
        // If nobody reads the log any more, the line is not kept.
        let _ = self.log.try_send(line);
    }

    /// One order, from the questions to the purchase; gives the price.
    async fn order(self: Arc<Self>, number: u32, fate: Fate, customer: CancelToken) -> Result<u32, Refused> {
        ORDER.set(number);
        let quote = self.quote(fate, &customer).await;
        match quote {
            Ok(price) => {
                shield(self.buy(price)).await;
                self.log(&format!("bought for {price}"));
            }
            Err(refused) => self.log(&format!("refused: {refused:?}")),
        }
        quote
    }

    /// Asks all backends at once. When this is ready nobody asks any more, whatever has come of it.
    async fn quote(self: &Arc<Self>, fate: Fate, customer: &CancelToken) -> Result<u32, Refused> {
        let quote = try_scope(async |backends| {
            let stock = backends.spawn(Arc::clone(self).ask_stock(fate));
            let price = backends.spawn(Arc::clone(self).ask("price", fate, 20));
            let discount = backends.spawn(Arc::clone(self).ask("discount", Fate::Fine, 3));
            let answers = async {
                match (stock.await, price.await, discount.await) {
                    (Ok(()), Ok(price), Ok(discount)) => price - discount,
                    // One of them has failed, and the others were cancelled: the scope, which has its error, drops this.
                    _ => pending().await,
                }
            };
            // Inside the scope, so that the scope waits for what is cancelled. Around it, the scope would just be dropped.
            customer.run_until_cancelled(answers).await.ok_or(Refused::CustomerLeft)
        });
        quote.await.expect(ALONE)
    }

    async fn ask_stock(self: Arc<Self>, fate: Fate) -> Result<(), Refused> {
        self.log("asks for the stock");
        // Behind the other questions.
        sleep(Duration::from_millis(50)).await;
        if fate == Fate::SoldOut { Err(Refused::SoldOut) } else { Ok(()) }
    }

    async fn ask(self: Arc<Self>, what: &'static str, fate: Fate, answer: u32) -> Result<u32, Refused> {
        self.log(&format!("asks for the {what}"));
        if fate != Fate::Fine {
            let _gives_up = GivesUp(&self, what);
            pending::<()>().await;
        }
        Ok(answer)
    }

    /// Both steps or neither.
    async fn buy(&self, price: u32) {
        self.log("takes the goods");
        self.goods_taken.fetch_add(1, SeqCst);
        sleep(Duration::from_millis(5)).await;
        self.log("charges for them");
        self.charged.fetch_add(price, SeqCst);
    }
}

/// Logs that a question ends without an answer: by being dropped, as everything ends that is cancelled.
struct GivesUp<'a>(&'a Shop, &'static str);

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        self.0.log(&format!("asks for the {} no longer", self.1));
    }
}

/// Reads the log up to a line.
async fn read_to(log: &Receiver<String>, line: &str) {
    let found = async { while log.recv().await.expect("the shop keeps its log open") != line {} };
    timeout(Duration::from_secs(10), found).await.expect(line);
}

fn main() {
    leno::block_on(async {
        let (log, lines) = unbounded();
        let has_logged = |line: &str| lines.try_iter().any(|logged| logged == line);
        let shop = Arc::new(Shop { goods_taken: AtomicU32::new(0), charged: AtomicU32::new(0), log });

        let ended = scope(async |orders| {
            let order = |number, fate| {
                // Cancelled with the shop's scope, and by itself.
                let customer = orders.token().child();
                (customer.clone(), orders.spawn(Arc::clone(&shop).order(number, fate, customer)))
            };
            let (_customer, first) = order(1, Fate::Fine);
            assert_eq!(first.await.expect(ALONE), Ok(17));

            let (_customer, second) = order(2, Fate::SoldOut);
            assert_eq!(second.await.expect(ALONE), Err(Refused::SoldOut));
            assert!(has_logged("order 2: asks for the price no longer"));

            let (customer, third) = order(3, Fate::Stuck);
            read_to(&lines, "order 3: asks for the price").await;
            customer.cancel();
            assert_eq!(third.await.expect(ALONE), Err(Refused::CustomerLeft));
            assert!(has_logged("order 3: asks for the price no longer"));

            // The shop closes: one order is between its two steps, another one's backends are being asked.
            let (_customer, fourth) = order(4, Fate::Fine);
            let (customer, fifth) = order(5, Fate::Stuck);
            read_to(&lines, "order 4: takes the goods").await;
            println!("the shop closes");
            orders.cancel();
            (fourth, fifth, customer)
        });
        let (fourth, fifth, customer) = ended.await.expect(ALONE);
        assert!(customer.is_cancelled() && fourth.is_finished() && fifth.is_finished());
        println!("order 4: {:?}, order 5: {:?}", fourth.await, fifth.await);
        let (taken, charged) = (shop.goods_taken.load(SeqCst), shop.charged.load(SeqCst));
        assert_eq!((taken, charged), (2, 2 * 17), "orders 1 and 4: what was taken is paid for");
    });
}
