/** The client: a connection to a sidecar, and one method for each call of the contract. */
import {
  type CallOptions,
  ChannelCredentials,
  type ClientReadableStream,
  type ClientUnaryCall,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js'
import { AuthorizationServiceClient } from '../gen/portcullis/v1/authorization.ts'
import { type DirectoryClient, directoryClient } from './directory.ts'
import { PortcullisError } from './error.ts'
import {
  apiList,
  type Check,
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

export interface ClientOptions {
  /** How long a call may take, in milliseconds. Default: 5,000. Streams have no deadline. */
  readonly deadlineMs?: number
  /** For calls that need to know the caller: issuing by profile, revoking by token id. A secret. */
  readonly callerToken?: string
  /** For administration by an account owner or a user with `iam.admin`: their account-scoped IAM token. A secret. */
  readonly iamToken?: string
  /** PEM files' contents, for a sidecar on another machine. Default: plaintext, for one on this machine. */
  readonly tls?: { readonly ca: Buffer; readonly certificate: Buffer; readonly key: Buffer }
}

/** Default address of a sidecar. */
export const DEFAULT_ADDRESS = '127.0.0.1:50051'

/**
 * Connects to a sidecar at `HOST:PORT` or `unix:PATH`. The connection is made at the first call, and made again when it broke.
 * Every method rejects with a {@link PortcullisError} where there is no answer; a denial is an answer. A question that is none
 * (a field missing, or of another type) rejects with a TypeError that names the field.
 */
export function connect(address: string = DEFAULT_ADDRESS, options: ClientOptions = {}): Client {
  return new Client(address, options)
}

export class Client {
  readonly #stub: AuthorizationServiceClient
  readonly #metadata = new Metadata()
  readonly #address: string
  readonly #deadlineMs: number
  /** Administration; needs a caller token that may administer, or `iamToken`. */
  readonly directory: DirectoryClient

  constructor(address: string, { deadlineMs = 5_000, callerToken, iamToken, tls }: ClientOptions) {
    const credentials =
      tls === undefined
        ? ChannelCredentials.createInsecure()
        : ChannelCredentials.createSsl(tls.ca, tls.key, tls.certificate)
    // A long batch about a matrix with long messages answers with more than the 4 MiB that gRPC takes by default.
    this.#stub = new AuthorizationServiceClient(address, credentials, {
      'grpc.max_receive_message_length': 64 * 1024 * 1024,
    })
    this.#address = address
    this.#deadlineMs = deadlineMs
    if (callerToken !== undefined)
      this.#metadata.set('authorization', `Bearer ${sendable('callerToken', callerToken)}`)
    if (iamToken !== undefined) this.#metadata.set('x-auth-token', sendable('iamToken', iamToken))
    this.directory = directoryClient((path, serialize, deserialize, request) =>
      this.#call(
        (message, metadata, callOptions, callback) =>
          this.#stub.makeUnaryRequest(path, serialize, deserialize, message, metadata, callOptions, callback),
        request as never,
      ),
    )
  }

  /** May this credential open this API? */
  async check(check: Check): Promise<CheckAnswer> {
    return checkAnswer(await this.#call(this.#stub.check, checkRequest(check)))
  }

  /** Many checks in one round trip: same order, same length. */
  async checkBatch(checks: readonly Check[]): Promise<CheckAnswer[]> {
    const request = { checks: checks.map((check, index) => checkRequest(check, `checks[${index}].`)) }
    const { results } = await this.#call(this.#stub.checkBatch, request)
    // A short answer would let the caller pair a question with another's answer.
    if (results.length !== checks.length)
      throw new Error('the sidecar answered another number of checks than asked')
    return results.map(checkAnswer)
  }

  /** Checks as they come; answers in order. Ends when the questions end. */
  async *checkStream(checks: AsyncIterable<Check> | Iterable<Check>): AsyncGenerator<CheckAnswer> {
    const stream = this.#stub.checkStream(this.#metadata)
    let asked = 0
    const asking = (async () => {
      for await (const check of checks) {
        if (stream.destroyed) return
        const more = stream.write({ id: String(asked++), check: checkRequest(check) })
        if (!more) await roomIn(stream)
      }
      stream.end()
    })()
    let failure: { readonly error: unknown } | undefined
    asking.catch((error: unknown) => {
      failure = { error }
      stream.cancel()
    })
    try {
      let answered = 0
      for await (const { id, result } of answersOf(stream, this.#address)) {
        // An answer out of order would be taken for another question's.
        if (id !== String(answered++) || result === undefined)
          throw new Error('the sidecar answered another question than the one that was next')
        yield checkAnswer(result)
      }
      await asking
      if (answered !== asked) throw new Error('the sidecar answered another number of checks than asked')
    } catch (error) {
      // Questions that cannot be read end the stream; that is the error, not the cancelled stream.
      throw failure === undefined ? error : failure.error
    } finally {
      stream.cancel()
    }
  }

  /** Obtains a token for a scope, or for a set of APIs. */
  async issue(question: IssueQuestion): Promise<IssuedToken> {
    return issuedToken(await this.#call(this.#stub.issue, issueRequest(question)))
  }

  /** Revokes a token by its value, or by its id with a caller token. */
  async revoke(token: { readonly value: string } | { readonly tokenId: string }): Promise<RevokedToken> {
    return this.#call(this.#stub.revoke, {
      token:
        'value' in token
          ? { $case: 'value', value: token.value }
          : { $case: 'tokenId', value: token.tokenId },
    })
  }

  /** The smallest set of tokens that opens all the APIs. */
  async plan(apis: readonly string[]): Promise<PlanAnswer> {
    return planAnswer(await this.#call(this.#stub.plan, { apis: apiList(apis) }))
  }

  /** The matrix that decides now. */
  async getMatrix(): Promise<MatrixAnswer> {
    return matrixAnswer((await this.#call(this.#stub.getMatrix, {})).matrix)
  }

  /** The matrix that decides now, and each one that replaces it. Stop with `break`. */
  async *watchMatrix(): AsyncGenerator<MatrixAnswer> {
    const stream = this.#stub.watchMatrix({}, this.#metadata)
    try {
      for await (const { matrix } of answersOf(stream, this.#address)) yield matrixAnswer(matrix)
    } finally {
      stream.cancel()
    }
  }

  close(): void {
    this.#stub.close()
  }

  #call<Request, Response>(method: UnaryMethod<Request, Response>, request: Request): Promise<Response> {
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + this.#deadlineMs }
      method.call(this.#stub, request, this.#metadata, options, (error, response) => {
        if (error === null) resolve(response as Response)
        else reject(new PortcullisError(error, { address: this.#address, deadlineMs: this.#deadlineMs }))
      })
    })
  }
}

/** Resolves when the stream takes more, or is over. */
function roomIn(stream: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.removeListener('drain', done).removeListener('close', done)
      resolve()
    }
    stream.once('drain', done).once('close', done)
  })
}

/** grpc-js would show what it cannot send. @throws TypeError that does not */
function sendable(option: string, token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError(`${option}: expected visible ASCII characters without spaces`)
  return token
}

type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  // grpc-js types the answer as absent where there is an error.
  callback: (error: ServiceError | null, response?: Response) => void,
) => ClientUnaryCall

/** The messages of a stream, with its errors as the client's. */
async function* answersOf<T>(stream: ClientReadableStream<T>, address: string): AsyncGenerator<T> {
  // A stream that is cancelled reports so when nobody iterates any more.
  stream.on('error', () => {})
  try {
    for await (const message of stream) yield message as T
  } catch (error) {
    throw typeof (error as ServiceError).code === 'number'
      ? new PortcullisError(error as ServiceError, { address })
      : error
  }
}
