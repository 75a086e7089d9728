//! The same cells as `compare`, one by one under criterion: `cargo bench -p leno-benches -- 'SPSC, capacity 0'`.

use std::time::Duration;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for cell in leno_benches::cells::all() {
        let mut group = criterion.benchmark_group(&cell.name);
        for contestant in &cell.contestants {
            let name = format!("{} on {}", contestant.library, contestant.executor);
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|iterations| {
                    let sample = contestant.run(iterations);
                    // Runs are rounded up to a multiple; criterion wants the time of what it asked for.
                    sample.wall.mul_f64(iterations as f64 / sample.ops as f64)
                });
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
