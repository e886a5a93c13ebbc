/** Deadlines, and requests that break the protocol: the same on every transport. */
import { STATUS, StatusError } from '../contract/call.ts'

/** The longest timer of Node, in milliseconds. A deadline after that counts as none. */
export const TIMER_MS_MAX = 2 ** 31 - 1

export const DEADLINE_EXCEEDED = new StatusError({
  code: STATUS.DEADLINE_EXCEEDED,
  message: 'Deadline exceeded',
})

/** The rest of a message did not arrive. */
export const LATE = new StatusError({
  code: STATUS.DEADLINE_EXCEEDED,
  message: 'the rest of the message did not arrive in time',
})

export const NOT_ONE_MESSAGE = new StatusError({
  code: STATUS.UNIMPLEMENTED,
  message: 'the method takes exactly one message',
})
