/**
 * Values that are either available now or promised: a check on this host stays synchronous wherever possible.
 */

export type MaybePromise<T> = T | Promise<T>

/** Calls `next` with the value: immediately if it is available, else when its promise is fulfilled. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
