//! The macros `select!`, `select_biased!` and `select_blocking!`: they read the branches one by one, and do nothing else.

/// Waits for several operations and completes exactly one of them.
///
/// ```text
/// select! {
///     pattern = future => handler,
///     pattern = future, if guard => { handler }
///     …                                    // up to 32 branches
///     default => handler,                  // nothing is ready now: do not wait
///     default(duration) => handler,        // nothing has been ready for so long
///     else => handler,                     // all branches are off
/// }
/// ```
///
/// It evaluates to the handler's value. Syntax and semantics are those of `tokio::select!`, with stronger guarantees: see
/// [the module](mod@crate::select#what-is-atomic).
///
/// * All guards are evaluated first, then all futures, also those whose guard is false; these are not polled.
/// * Branches are checked in random order; with `biased;` in front of them, or in [`select_biased!`](crate::select_biased), in
///   the order in which they are written (but one passed by `&mut` that had happened while it waited wins over all others).
/// * A leno operation is claimed. Any other future is polled as well; it needs neither `Unpin` nor pinning.
/// * `&mut future` keeps the future if it loses: `sending.into_inner()` gives its value back.
/// * `default` may stand alone: it runs at once, or after its time.
/// * A pattern that does not match disables its branch, and drops the value; the select goes on with the others. If none is
///   left, `else` runs; without an `else`, `default` does, after all of its time; without either it panics.
/// * The losers are dropped before the handler runs. A handler may await, use `?`, `break`, `continue` and `return`.
/// * What the winner's pattern ignores lives until its handler has ended: in that of `_ = mutex.lock()` the lock is held.
///
/// Cancelling: dropping the enclosing future while it waits here cancels all branches, as dropping each would.
///
/// # Panics
/// If all branches are disabled and there is neither `else` nor `default`. If an operation passed by `&mut` has already
/// completed.
///
/// ```
/// use leno::select;
///
/// # leno::block_on(async {
/// let (tx, rx) = leno::bounded(2);
/// let (_quit, quitting) = leno::bounded::<()>(1);
/// tx.send("warp").await.unwrap();
/// drop(tx);
/// let mut seen = Vec::new();
/// loop {
///     select! {
///         received = rx.recv() => match received {
///             Ok(thread) => seen.push(thread),
///             Err(_closed) => break,
///         },
///         _ = quitting.recv() => break,
///     }
/// }
/// assert_eq!(seen, ["warp"]);
/// # });
/// ```
#[macro_export]
macro_rules! select {
    (biased; $($branches:tt)*) => {
        $crate::__select_begin! { [await biased] $($branches)* }
    };
    ($($branches:tt)*) => {
        $crate::__select_begin! { [await random] $($branches)* }
    };
}

/// As [`select!`](crate::select!), checking the branches in the order in which they are written: if several are ready, the first
/// one always wins. (But an operation that was passed by `&mut` and had happened while it waited wins over all others.)
#[macro_export]
macro_rules! select_biased {
    (biased; $($branches:tt)*) => {
        $crate::__select_begin! { [await biased] $($branches)* }
    };
    ($($branches:tt)*) => {
        $crate::__select_begin! { [await biased] $($branches)* }
    };
}

/// As [`select!`](crate::select!), on a plain thread, which sleeps while it waits.
///
/// # Panics
/// As `select!`, and inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
///
/// ```
/// let (tx, rx) = leno::bounded(1);
/// std::thread::spawn(move || tx.send_blocking(1));
/// let (_never, nevers) = leno::rendezvous::<i32>();
/// let sum = leno::select_blocking! {
///     Ok(n) = rx.recv() => n,
///     Ok(n) = nevers.recv() => -n,
/// };
/// assert_eq!(sum, 1);
/// ```
#[macro_export]
macro_rules! select_blocking {
    (biased; $($branches:tt)*) => {
        $crate::__select_begin! { [block biased] $($branches)* }
    };
    ($($branches:tt)*) => {
        $crate::__select_begin! { [block random] $($branches)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select_begin {
    ($how:tt biased, $($rest:tt)*) => {
        ::core::compile_error!("a select whose branches are tried in order begins with `biased;`, with a semicolon")
    };
    ($how:tt biased $next:ident $($rest:tt)*) => {
        ::core::compile_error!("a select whose branches are tried in order begins with `biased;`, with a semicolon")
    };
    ($how:tt $($branches:tt)*) => {
        $crate::__select_branches! {
            $how
            [
                b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12 b13 b14 b15
                b16 b17 b18 b19 b20 b21 b22 b23 b24 b25 b26 b27 b28 b29 b30 b31
            ]
            [] [] [] @ [] $($branches)*
        }
    };
}

/// Reads the branches one by one, each in two steps: up to the `=` behind its pattern, and the rest.
///
/// `[how order] [names that are left] [branches so far] [otherwise] [else] @ [the branch without its handler] tokens`
#[doc(hidden)]
#[macro_export]
macro_rules! __select_branches {
    // All branches are read.
    ($how:tt $names:tt [] [] [($else:expr)] @ []) => {
        $else
    };
    ($how:tt $names:tt [] [] $else:tt @ []) => {
        ::core::compile_error!("a select needs at least one branch: `pattern = future => handler`")
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ []) => {
        $crate::__select_run! { $how $branches $default $else }
    };

    // What a branch begins with.
    ($how:tt $names:tt $branches:tt [] $else:tt @ [] default => $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches [] $else @ [default ($crate::select::macros::Otherwise::Now)] $($rest)* }
    };
    ($how:tt $names:tt $branches:tt [] $else:tt @ [] default($d:expr) => $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches [] $else @ [default ($crate::select::macros::Otherwise::After($d))] $($rest)* }
    };
    ($how:tt $names:tt $branches:tt [$($default:tt)+] $else:tt @ [] default $($rest:tt)*) => {
        ::core::compile_error!("a select has one `default` branch at most")
    };
    ($how:tt $names:tt $branches:tt $default:tt [] @ [] else => $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches $default [] @ [else] $($rest)* }
    };
    ($how:tt $names:tt $branches:tt $default:tt [$($else:tt)+] @ [] else $($rest:tt)*) => {
        ::core::compile_error!("a select has one `else` branch at most")
    };
    ($how:tt [] $branches:tt $default:tt $else:tt @ [] $($rest:tt)+) => {
        ::core::compile_error!("a select has 32 branches at most: use a `leno::select::Select` for more, or put some of them into a select of their own, `done = async { select! { … } } => …` (perhaps with `#![recursion_limit = \"256\"]`)")
    };

    // Its pattern, up to the `=`. What is common is read in one step, for the sake of the compiler's limit on recursion.
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [] _ = $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches $default $else @ [branch (_) (_)] $($rest)* }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [] $one:tt = $($rest:tt)*) => {
        $crate::__select_branches! {
            $how $names $branches $default $else
            @ [branch ($one) ($crate::__select_probe! { [] [] $one })] $($rest)*
        }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [] default $($rest:tt)*) => {
        ::core::compile_error!("the default of a select is `default => handler` or `default(duration) => handler`")
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [] else $($rest:tt)*) => {
        ::core::compile_error!("what a select does otherwise is `else => handler`")
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [] $one:tt $(($($inner:tt)*))? if $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches $default $else @ [pattern $one] if }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [] $a:tt $b:tt = $($rest:tt)*) => {
        $crate::__select_branches! {
            $how $names $branches $default $else
            @ [branch ($a $b) ($crate::__select_probe! { [] [] $a $b })] $($rest)*
        }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [] $a:tt $b:tt $c:tt = $($rest:tt)*) => {
        $crate::__select_branches! {
            $how $names $branches $default $else
            @ [branch ($a $b $c) ($crate::__select_probe! { [] [] $a $b $c })] $($rest)*
        }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [] $a:tt $b:tt $c:tt $d:tt = $($rest:tt)*) => {
        $crate::__select_branches! {
            $how $names $branches $default $else
            @ [branch ($a $b $c $d) ($crate::__select_probe! { [] [] $a $b $c $d })] $($rest)*
        }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [] $first:tt $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches $default $else @ [pattern $first] $($rest)* }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [pattern $($pattern:tt)+] = $($rest:tt)*) => {
        $crate::__select_branches! {
            $how $names $branches $default $else
            @ [branch ($($pattern)+) ($crate::__select_probe! { [] [] $($pattern)+ })] $($rest)*
        }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [pattern $($pattern:tt)+], if $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches $default $else @ [pattern $($pattern)+] }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [pattern $($pattern:tt)+] if $($rest:tt)*) => {
        ::core::compile_error!("the guard of a branch of a select comes behind its future: `pattern = future, if guard => handler`")
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [pattern $($pattern:tt)+] $(=> $($rest:tt)*)?) => {
        ::core::compile_error!(::core::concat!(
            "a branch of a select is `pattern = future => handler`: there is no `pattern =` in `",
            ::core::stringify!($($pattern)+), "`"
        ))
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [pattern $($pattern:tt)+] $next:tt $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches $default $else @ [pattern $($pattern)+ $next] $($rest)* }
    };

    // The handler of `default` and of `else`. (A block by its braces: a `$handler:block` would refuse an expression of
    // another macro's.)
    ($how:tt $names:tt $branches:tt [] $else:tt @ [default $otherwise:tt] {$($handler:tt)*}, $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches [$otherwise ({$($handler)*})] $else @ [] $($rest)* }
    };
    ($how:tt $names:tt $branches:tt [] $else:tt @ [default $otherwise:tt] {$($handler:tt)*} $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches [$otherwise ({$($handler)*})] $else @ [] $($rest)* }
    };
    ($how:tt $names:tt $branches:tt [] $else:tt @ [default $otherwise:tt] $handler:expr $(, $($rest:tt)*)?) => {
        $crate::__select_branches! { $how $names $branches [$otherwise ($handler)] $else @ [] $($($rest)*)? }
    };
    ($how:tt $names:tt $branches:tt $default:tt [] @ [else] {$($handler:tt)*}, $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches $default [({$($handler)*})] @ [] $($rest)* }
    };
    ($how:tt $names:tt $branches:tt $default:tt [] @ [else] {$($handler:tt)*} $($rest:tt)*) => {
        $crate::__select_branches! { $how $names $branches $default [({$($handler)*})] @ [] $($rest)* }
    };
    ($how:tt $names:tt $branches:tt $default:tt [] @ [else] $handler:expr $(, $($rest:tt)*)?) => {
        $crate::__select_branches! { $how $names $branches $default [($handler)] @ [] $($($rest)*)? }
    };

    // What stands behind a pattern.
    (
        $how:tt [$name:ident $($names:ident)*] [$($branches:tt)*] $default:tt $else:tt
        @ [branch $pattern:tt $probe:tt] $future:expr $(, if $guard:expr)? => {$($handler:tt)*}, $($rest:tt)*
    ) => {
        $crate::__select_branches! {
            $how [$($names)*] [$($branches)* [$name $pattern $probe ($future) ($($guard)?) ({$($handler)*})]] $default $else
            @ [] $($rest)*
        }
    };
    (
        $how:tt [$name:ident $($names:ident)*] [$($branches:tt)*] $default:tt $else:tt
        @ [branch $pattern:tt $probe:tt] $future:expr $(, if $guard:expr)? => {$($handler:tt)*} $($rest:tt)*
    ) => {
        $crate::__select_branches! {
            $how [$($names)*] [$($branches)* [$name $pattern $probe ($future) ($($guard)?) ({$($handler)*})]] $default $else
            @ [] $($rest)*
        }
    };
    (
        $how:tt [$name:ident $($names:ident)*] [$($branches:tt)*] $default:tt $else:tt
        @ [branch $pattern:tt $probe:tt] $future:expr $(, if $guard:expr)? => $handler:expr $(, $($rest:tt)*)?
    ) => {
        $crate::__select_branches! {
            $how [$($names)*] [$($branches)* [$name $pattern $probe ($future) ($($guard)?) ($handler)]] $default $else
            @ [] $($($rest)*)?
        }
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [branch $pattern:tt $probe:tt] $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "behind `", ::core::stringify!$pattern, " =` a select expects `future => handler` or `future, if guard => handler`, \
             and then a comma (unless the handler is a block)"
        ))
    };
    ($how:tt $names:tt $branches:tt $default:tt $else:tt @ [$head:tt $($otherwise:tt)?] $($rest:tt)*) => {
        ::core::compile_error!("behind `default =>` and `else =>` a select expects a handler, and then a comma (unless it is a block)")
    };
}

/// The same pattern, for a reference to the value: without `mut`, `ref` and `&`.
///
/// `[what is done] [the groups around it, each with what stood before it and what comes after it] tokens`
#[doc(hidden)]
#[macro_export]
macro_rules! __select_probe {
    ([$($done:tt)*] []) => {
        $($done)*
    };
    ([$($done:tt)*] [(paren [$($before:tt)*] [$($after:tt)*]) $($around:tt)*]) => {
        $crate::__select_probe! { [$($before)* ($($done)*)] [$($around)*] $($after)* }
    };
    ([$($done:tt)*] [(brace [$($before:tt)*] [$($after:tt)*]) $($around:tt)*]) => {
        $crate::__select_probe! { [$($before)* {$($done)*}] [$($around)*] $($after)* }
    };
    ([$($done:tt)*] [(bracket [$($before:tt)*] [$($after:tt)*]) $($around:tt)*]) => {
        $crate::__select_probe! { [$($before)* [$($done)*]] [$($around)*] $($after)* }
    };
    ([$($done:tt)*] [$($around:tt)*] ($($inner:tt)*) $($rest:tt)*) => {
        $crate::__select_probe! { [] [(paren [$($done)*] [$($rest)*]) $($around)*] $($inner)* }
    };
    ([$($done:tt)*] [$($around:tt)*] {$($inner:tt)*} $($rest:tt)*) => {
        $crate::__select_probe! { [] [(brace [$($done)*] [$($rest)*]) $($around)*] $($inner)* }
    };
    ([$($done:tt)*] [$($around:tt)*] [$($inner:tt)*] $($rest:tt)*) => {
        $crate::__select_probe! { [] [(bracket [$($done)*] [$($rest)*]) $($around)*] $($inner)* }
    };
    ($done:tt $around:tt mut $($rest:tt)*) => {
        $crate::__select_probe! { $done $around $($rest)* }
    };
    ($done:tt $around:tt ref $($rest:tt)*) => {
        $crate::__select_probe! { $done $around $($rest)* }
    };
    ($done:tt $around:tt & $($rest:tt)*) => {
        $crate::__select_probe! { $done $around $($rest)* }
    };
    ($done:tt $around:tt && $($rest:tt)*) => {
        $crate::__select_probe! { $done $around $($rest)* }
    };
    ([$($done:tt)*] $around:tt $token:tt $($rest:tt)*) => {
        $crate::__select_probe! { [$($done)* $token] $around $($rest)* }
    };
}

/// The select itself. (One without branches has a `default`, which is waited for if it is for later; unless it has an `else`, too,
/// which happens at once.)
#[doc(hidden)]
#[macro_export]
macro_rules! __select_run {
    (
        [$how:ident $order:ident]
        [$([$name:ident ($($pattern:tt)+) ($($probe:tt)+) ($future:expr) ($($guard:expr)?) ($handler:expr)])*]
        [$(($otherwise:expr) ($default:expr))?]
        [$(($else:expr))?]
    ) => {{
        #[allow(unused_mut)]
        let mut chosen;
        {
            let guards = [$($crate::__select_how!(guard $($guard)?)),*];
            // (First by itself: what is borrowed in it lives on. What is no future is underlined there.)
            let ($($name,)*) = ($($crate::select::macros::Given { 0: $future },)*);
            let ($($name,)*) = ($($crate::select::macros::pin!($name.__leno_future()),)*);
            #[allow(unused_imports)]
            use $crate::select::macros::{AsFuture as _, AsOperation as _};
            let mut choice = $crate::select::macros::Choice::new(
                $crate::__select_how!($order),
                $crate::__select_how!(otherwise $($otherwise)?),
                $crate::__select_how!(has_else $(($else))?),
                &guards,
                ($($crate::select::macros::Probe::new($name).__leno_arm(),)*),
                |which| match which {
                    $(
                        #[allow(unused_variables)]
                        $crate::select::macros::Which::$name($($probe)+) => true,
                    )*
                    #[allow(unreachable_patterns)]
                    _ => false,
                },
            );
            chosen = $crate::__select_how!($how choice);
        }
        match chosen {
            $($crate::select::macros::Chosen::Branch($crate::select::macros::Which::$name($($pattern)+)) => $handler,)*
            $($crate::select::macros::Chosen::Default => $default,)?
            $($crate::select::macros::Chosen::Else => $else,)?
            #[allow(unreachable_patterns)]
            _ => $crate::select::macros::nothing_left(),
        }
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select_how {
    (biased) => {
        true
    };
    (random) => {
        false
    };
    (has_else) => {
        false
    };
    (has_else $else:tt) => {
        true
    };
    (guard) => {
        true
    };
    (guard $guard:expr) => {
        $guard
    };
    (otherwise) => {
        $crate::select::macros::Otherwise::Wait
    };
    (otherwise $otherwise:expr) => {
        $otherwise
    };
    (await $choice:ident) => {
        (&mut $choice).await
    };
    (block $choice:ident) => {
        $choice.block()
    };
}

/// Users of an older edition, where binding modes may stand within a pattern for a reference, and mean something else.
///
/// ```edition2021
/// #![deny(warnings)]
/// use leno::{bounded, select, select_biased, select_blocking};
///
/// # leno::block_on(async {
/// let (tx, rx) = bounded(4);
/// for x in 1..=4 {
///     tx.send(Some((x, String::from("s"), [x, x]))).await.unwrap();
/// }
/// let sum = select! {
///     Ok(Some((mut x, ref text, [y, ..]))) = rx.recv() => {
///         x += y + text.len();
///         select_biased! {
///             Ok(Some((1, _, _)) | None) = rx.recv() => unreachable!("the second one is 2"),
///             received @ Ok(Some((3, ..))) = rx.recv() => x + received.unwrap().unwrap().0,
///             else => unreachable!("the third one is 3"),
///         }
///     }
///     () = std::future::pending() => unreachable!(),
/// };
/// assert_eq!(sum, 6);
/// let text = select_blocking! {
///     Ok(mut value) | Err(mut value) = async { rx.recv().await.map_err(|_| None) } => {
///         value.take().map(|(_, text, _)| text)
///     }
///     default => None,
/// };
/// assert_eq!(text.as_deref(), Some("s"));
/// let number = 5;
/// assert_eq!(select! { (&x, &mut ref y) = async { (&number, Box::leak(Box::new(1))) } => x + *y }, 6);
/// # });
/// ```
#[cfg(doctest)]
struct Edition2021;
