//! One run of one contestant: wall time and CPU time for a number of operations.

use std::future::Future;
use std::time::{Duration, Instant};

use crate::exec::Exec;

/// Operations come in multiples of this, unless a shape says otherwise, so that they can be divided among its tasks.
pub const GRAIN: u64 = 1_000;

/// What a run took.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Operations done.
    pub ops: u64,
    /// Time on the clock.
    pub wall: Duration,
    /// Time on all CPUs, user and system, of the whole process.
    pub cpu: Duration,
}

impl Sample {
    /// Nanoseconds of wall time for each operation.
    pub fn wall_ns(&self) -> f64 {
        self.wall.as_nanos() as f64 / self.ops as f64
    }

    /// Nanoseconds of CPU time for each operation.
    pub fn cpu_ns(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.ops as f64
    }
}

/// Runs `work` for at least `ops` operations, a multiple of `grain`, on a fresh executor, after a warm-up of a tenth.
pub fn sample<E, W, F>(workers: usize, ops: u64, grain: u64, work: &W) -> Sample
where
    E: Exec,
    W: Fn(u64) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let executor = E::start(workers);
    executor.run(work((ops / 10).next_multiple_of(grain)));
    let ops = ops.next_multiple_of(grain);
    let work = work(ops);
    executor.run(async move {
        let (wall, cpu) = (Instant::now(), cpu_time());
        work.await;
        Sample { ops, wall: wall.elapsed(), cpu: cpu_time() - cpu }
    })
}

/// No run does more operations than this, however fast they are.
const MOST_OPS: u64 = 2_000_000;

/// How many operations fill the time of one run; `sample` runs at least as many as it is told to.
pub fn calibrate(run: Duration, sample: impl Fn(u64) -> Sample) -> u64 {
    let mut ops = GRAIN;
    loop {
        let sample = sample(ops);
        let wanted = run.as_nanos() as f64 / sample.wall_ns();
        if sample.wall * 4 >= run || sample.ops >= MOST_OPS {
            return (wanted as u64).clamp(GRAIN, MOST_OPS);
        }
        ops = (wanted as u64).clamp(sample.ops + GRAIN, sample.ops * 20).min(MOST_OPS);
    }
}

/// The median of some figures.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// CPU time that this process has used so far.
pub fn cpu_time() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is to writable memory of the right type.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "getrusage knows RUSAGE_SELF");
    // SAFETY: getrusage returned 0, so it has filled the structure.
    let usage = unsafe { usage.assume_init() };
    [usage.ru_utime, usage.ru_stime]
        .iter()
        .map(|t| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64))
        .sum()
}
