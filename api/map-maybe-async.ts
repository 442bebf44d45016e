/** Continues synchronously if the value is not a promise, because each await costs a request one turn of the event loop. */
export function mapMaybeAsync<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
