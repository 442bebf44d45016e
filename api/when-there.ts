/** Goes on in the same turn where nothing has to be waited for: each wait costs a request a turn. */
export function whenThere<Value, Result>(
  value: Value | Promise<Value>,
  goOn: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(goOn) : goOn(value)
}
