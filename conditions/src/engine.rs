//! One condition in an engine of its own. Runs in the helper only: an expression that the engine cannot interrupt ends its
//! process.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use rquickjs::{
    CatchResultExt as _, CaughtError, Context, Ctx, Function, Runtime, Value,
    context::intrinsic::{Eval, Json, MapSet, Promise, RegExp, RegExpCompiler},
};

use crate::{ConditionAnswer, ConditionFailure, LENGTH_MAX, MEMORY_MAX, TIME_MAX};

/// Bytes of stack: deep recursion ends with an exception before the thread's own stack does.
const STACK_MAX: usize = 256 << 10;
/// Characters of an error that are reported.
const TOLD_MAX: usize = 200;

/// No clock, no proxies. The engine ends its process over `async` and `import()` where it has no promises.
type Intrinsics = (Eval, RegExpCompiler, RegExp, Json, MapSet, Promise);

/// Takes away what makes two evaluations of the same differ, and what would have to be waited for. Then makes a function of an expression: between two kinds of
/// brackets, so that text that closes one of them to go on with statements of its own is no expression. That function, without
/// what it sees, is what comes of it.
const COMPILE: &str = r#"(Later => {
    delete globalThis.Promise;
    delete Math.random;
    return (scope, text) => {
        const names = Object.keys(scope), values = Object.values(scope);
        Function(...names, `[${text}\n]`);
        const condition = Function(...names, `"use strict"; return (${text}\n)`);
        return () => {
            const value = condition(...values);
            if (value instanceof Later) throw new TypeError("it is asynchronous, and a condition is not waited for");
            return !!value;
        };
    };
})(Promise)"#;

/// What came of a condition. `scope` is a JSON object, each of whose members it sees under its name; `None`: the condition
/// is only parsed, and holds if it could be.
pub(crate) fn answer(condition: &str, scope: Option<&str>) -> ConditionAnswer {
    match evaluated(condition, scope) {
        Ok(true) => ConditionAnswer::Holds,
        Ok(false) => ConditionAnswer::DoesNotHold,
        Err(failure) => ConditionAnswer::Failed(failure),
    }
}

fn evaluated(condition: &str, scope: Option<&str>) -> Result<bool, ConditionFailure> {
    if condition.trim().is_empty() {
        return Err(ConditionFailure::Syntax("it is empty".to_owned()));
    }
    if condition.chars().count() > LENGTH_MAX {
        return Err(ConditionFailure::Syntax(format!("it has more than {LENGTH_MAX} characters")));
    }
    let runtime = Runtime::new().map_err(|_| ConditionFailure::Memory)?;
    runtime.set_memory_limit(MEMORY_MAX);
    runtime.set_max_stack_size(STACK_MAX);
    let until = processor_time().saturating_add(TIME_MAX);
    runtime.set_interrupt_handler(Some(Box::new(move || processor_time() >= until)));
    let context = Context::custom::<Intrinsics>(&runtime).map_err(|_| ConditionFailure::Memory)?;
    let answer = context.with(|ctx| in_context(&ctx, condition, scope));
    match answer {
        Err(ConditionFailure::Memory) => Err(ConditionFailure::Memory),
        // An exception that came of being interrupted says less than that it was, and a call that cannot be interrupted may be late.
        _ if processor_time() >= until => Err(ConditionFailure::Time),
        answer => answer,
    }
}

fn in_context(ctx: &Ctx<'_>, condition: &str, scope: Option<&str>) -> Result<bool, ConditionFailure> {
    let threw = |error: CaughtError<'_>| failure(&error, ConditionFailure::Threw);
    let parse_only = scope.is_none();
    let scope: Value<'_> = ctx.json_parse(scope.unwrap_or("{}")).catch(ctx).map_err(threw)?;
    let compile: Function<'_> = ctx.eval(COMPILE).catch(ctx).map_err(threw)?;
    let compiled: Result<Function<'_>, _> = compile.call((scope, condition)).catch(ctx);
    let compiled = compiled.map_err(|error| failure(&error, ConditionFailure::Syntax))?;
    if parse_only {
        return Ok(true);
    }
    compiled.call(()).catch(ctx).map_err(threw)
}

fn failure(error: &CaughtError<'_>, as_told: fn(String) -> ConditionFailure) -> ConditionFailure {
    let told = match error {
        CaughtError::Exception(exception) => exception.message().unwrap_or_default(),
        CaughtError::Value(value) => thrown(value),
        CaughtError::Error(error) => error.to_string(),
    };
    if told.contains("out of memory") {
        return ConditionFailure::Memory;
    }
    as_told(told.chars().take(TOLD_MAX).collect())
}

/// A value that was thrown and is no error. One without words is its type: it has no other name than its address.
fn thrown(value: &Value<'_>) -> String {
    let words = value.as_string().and_then(|text| text.to_string().ok());
    let number = || value.as_number().map(|number| number.to_string());
    let truth = || value.as_bool().map(|truth| truth.to_string());
    words.or_else(number).or_else(truth).unwrap_or_else(|| format!("a value of the type {}", value.type_name()))
}

/// Processor time of this thread: a busy machine takes nothing of a condition's time.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::MAX, Duration::from)
}
