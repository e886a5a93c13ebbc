/** A long list that comes from the sidecar page by page. */
import type { ApiError } from './errors.ts'

/** A page of a list as the sidecar sends it. */
export interface Fetched<T> {
  readonly rows: readonly T[]
  /** Empty: it was the last one. */
  readonly nextPageToken: string
}

export interface Paged<T> {
  readonly rows: readonly T[]
  /** Those that were put in front, and that a page may bring once more. */
  readonly added: readonly T[]
  /** The token of the page to ask for next; `undefined`: there is none. */
  readonly next: string | undefined
  readonly loading: boolean
  readonly error: ApiError | undefined
}

export const NOTHING_YET: Paged<never> = { rows: [], added: [], next: '', loading: false, error: undefined }

export function loading<T>(paged: Paged<T>): Paged<T> {
  return { ...paged, loading: true, error: undefined }
}

export function arrived<T>(
  paged: Paged<T>,
  { rows, nextPageToken }: Fetched<T>,
  keyOf: (row: T) => string,
): Paged<T> {
  const added = new Set(paged.added.map(keyOf))
  return {
    rows: [...paged.rows, ...rows.filter((row) => !added.has(keyOf(row)))],
    added: paged.added,
    next: nextPageToken === '' ? undefined : nextPageToken,
    loading: false,
    error: undefined,
  }
}

export function failed<T>(paged: Paged<T>, error: ApiError): Paged<T> {
  return { ...paged, loading: false, error }
}

/** Whether to ask for the next page. @param lastInSight number of the last row in sight */
export function wantsMore<T>({ rows, next, loading, error }: Paged<T>, lastInSight: number): boolean {
  return next !== undefined && !loading && error === undefined && lastInSight + AHEAD >= rows.length
}

/** A page is asked for when fewer rows than that are left below. */
const AHEAD = 30

/** Changes a row, or takes it away: `changed` returns `undefined`. */
export function withRow<T>(
  paged: Paged<T>,
  which: (row: T) => boolean,
  changed: (row: T) => T | undefined,
): Paged<T> {
  const rows = paged.rows.flatMap((row) => (which(row) ? (changed(row) ?? []) : [row])) as T[]
  return { ...paged, rows }
}

/** Puts a new row in front, where its author sees it. */
export function withFirst<T>(paged: Paged<T>, row: T): Paged<T> {
  return { ...paged, rows: [row, ...paged.rows], added: [row, ...paged.added] }
}
