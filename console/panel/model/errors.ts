/** Errors of calls as the page knows them, from the JSON of the control panel and from that of Connect. */

/** No sidecar answered. The page's own reason; all others are the sidecar's. */
export const UNREACHABLE = 'UNREACHABLE'
/** The details of such an error for a call that changes nothing that a user would need to check. */
export const NOTHING_CHANGED = { changed: 'nothing' } as const
/** The user closed the dialog that the call needed. The page's own reason. */
export const GIVEN_UP = 'GIVEN_UP'

export class ApiError extends Error {
  /** A reason of the table of call errors, or one of the page's own above. */
  readonly reason: string
  /** The metadata beside the message, for example `{ways: "code passkey"}`. */
  readonly metadata: Readonly<Record<string, string>>
  /** Status of HTTP. 0: there was no answer. */
  readonly status: number
  /** How long to wait before another attempt. */
  readonly retryAfterMs: number | undefined

  constructor(
    reason: string,
    message: string,
    { metadata = {}, status = 0, retryAfterMs }: Partial<Omit<ApiError, 'reason' | 'message'>> = {},
  ) {
    super(message)
    this.name = 'ApiError'
    this.reason = reason
    this.metadata = metadata
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** Any error as one of a call. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError('INTERNAL', error instanceof Error ? error.message : String(error))
}

/** Whether the result of the call is unknown: there was no answer, or one that is a fault of the sidecar. */
export function isUncertain({ status }: ApiError): boolean {
  return status === 0 || status >= 500
}

/** Makes something. If it is unknown whether it exists now, `unknown` is called: the list has the answer. */
export async function made<T>(call: Promise<T>, unknown: () => void): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (isUncertain(apiErrorOf(error))) unknown()
    throw error
  }
}

/**
 * Reads the body of an answer whose status is an error. Total: an unknown answer has the reason `INTERNAL`.
 */
export function errorOf(status: number, body: unknown, retryAfter: string | null): ApiError {
  const { reason, metadata } = given(body)
  const message = textIn(body, 'message')
  const seconds = Number(retryAfter ?? metadata.seconds)
  return new ApiError(reason, message, {
    metadata,
    status,
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined,
  })
}

/**
 * Reason and metadata: of the control panel's own JSON, or of the `ErrorInfo` among the details of Connect's,
 * which the sidecar sends as JSON beside its bytes.
 */
function given(body: unknown): { reason: string; metadata: Record<string, string> } {
  const own = textIn(body, 'reason')
  if (own !== '') return { reason: own, metadata: textsIn(fieldOf(body, 'metadata')) }
  const details = fieldOf(body, 'details')
  const info = Array.isArray(details)
    ? details.find((each) => textIn(each, 'type') === 'google.rpc.ErrorInfo')
    : undefined
  const json = fieldOf(info, 'debug')
  return { reason: textIn(json, 'reason') || 'INTERNAL', metadata: textsIn(fieldOf(json, 'metadata')) }
}

/**
 * The parts of a message about single fields: the sidecar writes `password: expected …; name: expected …`.
 *
 * @param names fields of the form
 * @returns field → what was expected, and `rest` for what is about none of them
 */
export function violationsOf(
  { reason, message }: ApiError,
  names: readonly string[],
): { readonly fields: Readonly<Record<string, string>>; readonly rest: string } {
  if (reason !== 'INVALID_ARGUMENT') return { fields: {}, rest: message }
  const fields: Record<string, string> = {}
  const rest = message.split('; ').filter((part) => {
    const [, name = '', text = ''] = /^(\w+)(?:\[\d+\])?: (.*)$/s.exec(part) ?? []
    const field = names.find((each) => each === name || each === camelCased(name))
    if (field === undefined) return true
    fields[field] = text
    return false
  })
  return { fields, rest: rest.join('; ') }
}

const camelCased = (name: string): string =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}

function textIn(value: unknown, name: string): string {
  const text = fieldOf(value, name)
  return typeof text === 'string' ? text : ''
}

function textsIn(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, String(each)]))
}
