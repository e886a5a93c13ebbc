/**
 * Pages of a search. A page token says where the next page begins, and of which search. The server keeps
 * nothing: the token holds a digest of the search, so that it fits no other one.
 */
import { hash } from 'node:crypto'
import { type CallError, invalidArgument } from '../../base/call-error.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../../usecases/administration/paging.ts'
import { expectFields } from './entities.ts'

/** Two numbers and the digest. */
const NUMBERS_BYTES = 8
const DIGEST_BYTES = 16

export class PageRequest {
  readonly #token: string | undefined
  #limit: number | undefined

  /** @throws CallError */
  constructor(page: unknown = {}) {
    const { token, limit } = expectFields(page, 'page')
    if (token !== undefined && typeof token !== 'string')
      throw invalidArgument({ field: 'page.token', expected: 'a string, or none' })
    if (limit !== undefined && !(Number.isSafeInteger(limit) && (limit as number) >= 0))
      throw invalidArgument({ field: 'page.limit', expected: 'a whole number of 0 or more, or none' })
    // The same request again and again would never come to the end.
    if (limit === 0 && token !== undefined)
      throw invalidArgument({
        field: 'page.limit',
        expected: 'a whole number of 1 or more beside a token, or none, because pages of 0 results never end',
      })
    this.#token = token
    this.#limit = limit === undefined ? undefined : Math.min(limit as number, PAGE_SIZE_MAX)
  }

  /**
   * Where the page begins, and how many results it has at most.
   *
   * @param query everything that the results depend on
   * @throws CallError where the token is of another search, or of other rules
   */
  begin(query: unknown): { readonly from: number; readonly limit: number } {
    if (this.#token === undefined) {
      this.#limit ??= PAGE_SIZE_DEFAULT
      return { from: 0, limit: this.#limit }
    }
    const bytes = Buffer.from(this.#token, 'base64url')
    if (bytes.length !== NUMBERS_BYTES + DIGEST_BYTES) throw wrongToken()
    const from = bytes.readUInt32BE(0)
    const limit = bytes.readUInt32BE(4)
    // The limit of the first request holds for all pages.
    if ((this.#limit ?? limit) !== limit || tokenOf(query, from, limit) !== this.#token) throw wrongToken()
    this.#limit = limit
    return { from, limit }
  }

  /**
   * After a page of 0 results, which only says whether there are any, the search begins with pages of the
   * default size.
   *
   * @param next where the next page begins; `undefined`: this page is the last one, and the token is empty
   */
  tokenFor(query: unknown, next: number | undefined): string {
    return next === undefined ? '' : tokenOf(query, next, this.#limit || PAGE_SIZE_DEFAULT)
  }
}

function tokenOf(query: unknown, from: number, limit: number): string {
  const numbers = Buffer.alloc(NUMBERS_BYTES)
  numbers.writeUInt32BE(from, 0)
  numbers.writeUInt32BE(limit, 4)
  const digest = hash('sha256', JSON.stringify([query, from, limit]), 'buffer').subarray(0, DIGEST_BYTES)
  return Buffer.concat([numbers, digest]).toString('base64url')
}

function wrongToken(): CallError {
  return invalidArgument({
    field: 'page.token',
    expected:
      'the `next_token` of the answer before, with everything else in the request unchanged; after a change of the matrix, a search from its beginning',
  })
}
