/** Values that are there at once or come later: a check on this host stays synchronous wherever it can. */

export type MaybePromise<T> = T | Promise<T>

/** Goes on at once where the value is there. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => U): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
