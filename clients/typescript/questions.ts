/** The methods of the client that are one call each, over whatever connection makes it. */
import type { MethodDefinition } from '@grpc/grpc-js'
import { AuthorizationServiceService } from '../../proto/gen/portcullis/v1/authorization.ts'
import type { Matrix } from '../../proto/gen/portcullis/v1/matrix.ts'
import { PortcullisError } from './error.ts'
import {
  type AnyCheck,
  apiList,
  type CheckAnswer,
  checkAnswer,
  checkRequest,
  type IssuedToken,
  type IssueQuestion,
  issuedToken,
  issueRequest,
  type MatrixAnswer,
  matrixAnswer,
  type PlanAnswer,
  planAnswer,
  type RevokedToken,
} from './values.ts'

/** When a call ends without an answer. */
export interface CallEnd {
  readonly signal?: AbortSignal | undefined
  /** Default: after the deadline of the client. */
  readonly endsAtMs?: number
}

/** Makes one call, with the client's deadline, tokens and errors. */
export type MakeCall = <Request, Response>(
  method: MethodDefinition<Request, Response>,
  request: Request,
  end?: CallEnd,
) => Promise<Response>

export interface Connection {
  readonly call: MakeCall
  /** @throws TypeError where others could read a secret on its way */
  readonly refuseIfExposed: () => void
}

/** Most APIs and conflicts of a page of the matrix. */
const PAGE_SIZE = 1_000

/** Sidecars with different matrices may share an address. */
const MATRIX_TRIES_MAX = 3

const METHODS = AuthorizationServiceService

export class Questions {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** @param at where the check stands in a longer request, for errors */
  checkRequest(check: AnyCheck, at?: string): ReturnType<typeof checkRequest> {
    const request = checkRequest(check, at)
    if (request.subject?.$case === 'credentials') this.#connection.refuseIfExposed()
    return request
  }

  async check(check: AnyCheck, end?: CallEnd): Promise<CheckAnswer> {
    const response = await this.#connection.call(METHODS.check, this.checkRequest(check), end)
    return checkAnswer(response, isRouted(check))
  }

  async issue(question: IssueQuestion): Promise<IssuedToken> {
    // The answer is a secret too.
    this.#connection.refuseIfExposed()
    return issuedToken(await this.#connection.call(METHODS.issue, issueRequest(question)))
  }

  async revoke(token: { readonly value: string } | { readonly tokenId: string }): Promise<RevokedToken> {
    if ('value' in token) this.#connection.refuseIfExposed()
    return this.#connection.call(METHODS.revoke, {
      token:
        'value' in token
          ? { $case: 'value', value: token.value }
          : { $case: 'tokenId', value: token.tokenId },
    })
  }

  async plan(apis: readonly string[]): Promise<PlanAnswer> {
    return planAnswer(await this.#connection.call(METHODS.plan, { apis: apiList(apis) }))
  }

  async getMatrix(): Promise<MatrixAnswer> {
    for (let tries = 1; ; tries++) {
      try {
        return matrixAnswer(await this.#matrixPages())
      } catch (error) {
        // Another matrix has come into force between two pages.
        const isReplaced = error instanceof PortcullisError && error.code === 'FAILED_PRECONDITION'
        if (!isReplaced || tries === MATRIX_TRIES_MAX) throw error
      }
    }
  }

  async #matrixPages(): Promise<(Matrix | undefined)[]> {
    const pages: (Matrix | undefined)[] = []
    let pageToken = ''
    do {
      const page = await this.#connection.call(METHODS.getMatrix, { pageSize: PAGE_SIZE, pageToken })
      pages.push(page.matrix)
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    return pages
  }
}

export function isRouted(check: AnyCheck | undefined): boolean {
  return check !== undefined && 'request' in check && check.request !== undefined
}
