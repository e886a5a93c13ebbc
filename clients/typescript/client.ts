/** The client: a connection to a sidecar, with one method for each call of the contract. */
import {
  ChannelCredentials,
  type ClientReadableStream,
  type ClientUnaryCall,
  type MethodDefinition,
  makeClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js'
import {
  type AuthorizationServiceClient,
  type AuthorizationServiceClientConstructor,
  AuthorizationServiceService,
  type WatchChangesRequest,
  type WatchChangesResponse,
} from '../../proto/gen/portcullis/v1/authorization.ts'
import { DEFAULT_ADDRESS } from './default-address.ts'
import { type DirectoryClient, directoryClient } from './directory-client.ts'
import { cancelledError, closedError, lateError, PortcullisError } from './error.ts'
import { aliveUntil, letProgramEnd, withIdleSockets } from './idle-sockets.ts'
import { LocalMode, type LocalOptions } from './local-mode.ts'
import { localQuestion } from './local-question.ts'
import { isThisMachine, plaintextRefused, proxyOption } from './plaintext.ts'
import { Presented } from './presented.ts'
import { type CallEnd, isRouted, type MakeCall, Questions } from './questions.ts'
import {
  type AnyCheck,
  type CheckAnswer,
  checkAnswer,
  type IssuedToken,
  type IssueQuestion,
  type MatrixAnswer,
  matrixAnswer,
  type PlanAnswer,
  type RevokedToken,
} from './values.ts'

export interface ClientOptions {
  /** How long a call may take, in milliseconds. Default: 5,000. Streams have no deadline. */
  readonly deadlineMs?: number
  /**
   * A secret that identifies the caller: needed to issue by profile, to revoke tokens of others, and to
   * administer as an operator, unless the certificate of `tls` identifies the caller.
   */
  readonly callerToken?: string
  /**
   * A file with that secret, in place of `callerToken`. It is read again while the client is used, so a new
   * secret needs no restart.
   */
  readonly callerTokenFile?: string
  /**
   * For administration, and to revoke a token: the account-scoped IAM token of an account owner or a user
   * with `iam.admin`. To revoke one's own token, a user's own IAM token. A secret.
   */
  readonly iamToken?: string
  /**
   * Contents of PEM files, for a sidecar on another machine. Default: plaintext, for a sidecar on this
   * machine. Without `ca` the authorities count that Node trusts. A sidecar that listens with TLS expects a
   * client certificate.
   */
  readonly tls?: {
    readonly ca?: Buffer
    readonly certificate?: Buffer
    readonly key?: Buffer
    /** The name that the sidecar's certificate must have. Default: the host of the address. */
    readonly serverName?: string
  }
  /**
   * Send tokens and passwords in plaintext to another machine. Only for a connection that something else
   * encrypts, for example a tunnel. Default: false. A call with a secret then rejects with a TypeError whose
   * `code` is `PLAINTEXT_REFUSED`.
   */
  readonly allowPlaintext?: boolean
  /**
   * Decide in the memory of this program: follow what changes, and ask the sidecar about each token once. It
   * needs a caller with the right `follow`. Default: false, each check is asked.
   */
  readonly local?: boolean | LocalOptions
}

/**
 * Connects to a sidecar at `HOST:PORT` or `unix:PATH`; without an address, where `PORTCULLIS_GRPC_ADDRESS`
 * says, or at 127.0.0.1:50051. The connection opens at the first call, and reopens after a failure. Every
 * method rejects with a {@link PortcullisError} if there is no answer. A denial is an answer. If an argument
 * is invalid (a field is missing or has the wrong type), the method rejects with a TypeError that names the
 * field. A client that is not closed does not keep the program alive.
 *
 * @throws TypeError if a secret would be sent to another machine in plaintext, or a token is unusable
 */
export function connect(address?: string, options: ClientOptions = {}): Client {
  return new Client(address || process.env.PORTCULLIS_GRPC_ADDRESS || DEFAULT_ADDRESS, options)
}

/**
 * A sidecar that is back is found within two seconds: grpc-js alone waits for up to two minutes. It adds up
 * to a fifth to each pause.
 */
const RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_600 }

/** Finds out within seconds that a machine is gone, so that another connection can follow. */
const KEEPALIVE = { 'grpc.keepalive_time_ms': 10_000, 'grpc.keepalive_timeout_ms': 3_000 }

/** Longest time that a timer of Node takes, in milliseconds. */
const TIMER_MS_MAX = 2 ** 31 - 1

const METHODS = AuthorizationServiceService

/** The methods of the contract on a connection of grpc-js. */
const Stub = makeClientConstructor(
  METHODS,
  'portcullis.v1.AuthorizationService',
) as unknown as AuthorizationServiceClientConstructor

export class Client {
  readonly #stub: AuthorizationServiceClient
  readonly #presented: Presented
  readonly #questions: Questions
  readonly #address: string
  readonly #deadlineMs: number
  /** Whether secrets may not be sent, because others could read them. */
  readonly #exposed: boolean
  readonly #local: LocalMode | undefined
  /** Whether it follows the sidecar, from the beginning on. */
  readonly #follows: boolean
  #isClosed = false
  /** Calls under way. Clients with the same address share a connection, which may outlive this one. */
  readonly #calls = new Set<{ cancel(): void }>()
  /** Administration. It needs the caller token of an operator, or `iamToken`. */
  readonly directory: DirectoryClient

  constructor(address: string, options: ClientOptions) {
    const { deadlineMs = 5_000, tls, allowPlaintext = false, local = false } = options
    this.#exposed = tls === undefined && !allowPlaintext && !isThisMachine(address)
    this.#follows = local !== false
    this.#presented = new Presented(options)
    if (this.#exposed && !this.#presented.isEmpty) throw plaintextRefused(address)
    const credentials =
      tls === undefined
        ? ChannelCredentials.createInsecure()
        : // Said here, so that no variable of the environment switches the verification off.
          ChannelCredentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.certificate ?? null, {
            rejectUnauthorized: true,
          })
    // The answer to a long batch with long messages exceeds the 4 MiB that gRPC accepts by default.
    this.#stub = new Stub(address, credentials, {
      'grpc.max_receive_message_length': 64 * 1024 * 1024,
      ...RECONNECT,
      ...proxyOption(address, tls !== undefined),
      ...(local !== false && KEEPALIVE),
      ...(tls?.serverName !== undefined && { 'grpc.ssl_target_name_override': tls.serverName }),
    })
    this.#address = address
    this.#deadlineMs = deadlineMs
    const call: MakeCall = (method, request, end) => this.#call(method, request, end)
    this.#questions = new Questions({ call, refuseIfExposed: () => this.#refuseIfExposed() })
    this.directory = directoryClient(call)
    this.#local =
      local === false
        ? undefined
        : new LocalMode((begin, signal) => this.#watchChanges(begin, signal), local === true ? {} : local)
  }

  /**
   * Checks whether a credential opens an API. With `local`, from memory where it can.
   *
   * @param call its signal ends the call, which then rejects with `CANCELLED`
   */
  async check(check: AnyCheck, { signal }: { readonly signal?: AbortSignal } = {}): Promise<CheckAnswer> {
    const local = this.#local
    this.#refuseIfClosed()
    if (local === undefined) return this.#questions.check(check, { signal })
    const question = localQuestion(check)
    const known = local.recall(question)
    if (known !== undefined) return known
    const endsAtMs = Date.now() + this.#deadlineMs
    // Others may wait for the same answer, so the question does not end with one of them.
    const ask = () => {
      if (signal?.aborted) throw cancelledError()
      return this.#call(METHODS.check, this.#questions.checkRequest(check), { endsAtMs })
    }
    return this.#untilOver(local.answer(question, ask), signal)
  }

  /**
   * Checks from memory, at once. `undefined`: `check` asks the sidecar, because `local` is off, the token is
   * not known, or the sidecar has said nothing for too long.
   */
  checkLocally(check: AnyCheck): CheckAnswer | undefined {
    return this.#isClosed ? undefined : this.#local?.recall(localQuestion(check))
  }

  /** Makes many checks in one round trip. The answers have the order and the number of the checks. */
  async checkBatch(checks: readonly AnyCheck[]): Promise<CheckAnswer[]> {
    const request = {
      checks: checks.map((check, index) => this.#questions.checkRequest(check, `checks[${index}].`)),
    }
    const { results } = await this.#call(METHODS.checkBatch, request)
    // With a different number, a check could be paired with the answer of another one.
    if (results.length !== checks.length) throw wrongNumberOfAnswers(checks.length, results.length)
    return results.map((result, index) => checkAnswer(result, isRouted(checks[index])))
  }

  /** Makes checks as they come, and returns their answers in the same order. Ends when the checks end. */
  async *checkStream(checks: AsyncIterable<AnyCheck> | Iterable<AnyCheck>): AsyncGenerator<CheckAnswer> {
    const stream = this.#open(() => this.#stub.checkStream(this.#presented.metadata))
    let sent = 0
    const routed = new Set<string>()
    const sending = (async () => {
      for await (const check of checks) {
        if (stream.destroyed) return
        const request = this.#questions.checkRequest(check)
        if (isRouted(check)) routed.add(String(sent))
        const more = stream.write({ id: String(sent++), check: request })
        if (!more) await drained(stream)
      }
      stream.end()
    })()
    let failure: { readonly error: unknown } | undefined
    sending.catch((error: unknown) => {
      failure = { error }
      stream.cancel()
    })
    try {
      let answered = 0
      for await (const { id, result } of messagesOf(stream, this.#address)) {
        // An answer that is out of order would be paired with the wrong check.
        if (id !== String(answered++) || result === undefined)
          throw new Error('the sidecar sent an answer out of order')
        yield checkAnswer(result, routed.delete(id))
      }
      await sending
      if (answered !== sent) throw wrongNumberOfAnswers(sent, answered)
    } catch (error) {
      // An invalid check cancels the stream. Its error is reported, and not the cancellation.
      throw failure === undefined ? error : failure.error
    } finally {
      stream.cancel()
    }
  }

  /** Issues a token for a scope, or for a set of APIs. */
  issue(question: IssueQuestion): Promise<IssuedToken> {
    return this.#questions.issue(question)
  }

  /**
   * Revokes a token by its value, or by its id with a caller token. The value of a static token needs
   * `callerToken`, or the `iamToken` of its holder or of an account administrator. The value of an IAM token
   * is enough to revoke it.
   */
  revoke(token: { readonly value: string } | { readonly tokenId: string }): Promise<RevokedToken> {
    return this.#questions.revoke(token)
  }

  /** Finds the smallest set of tokens that opens all of the APIs. */
  plan(apis: readonly string[]): Promise<PlanAnswer> {
    return this.#questions.plan(apis)
  }

  /** Returns the current matrix. A large one is asked for by page. */
  getMatrix(): Promise<MatrixAnswer> {
    return this.#questions.getMatrix()
  }

  /** Returns the current matrix, and each new one that replaces it. Stop with `break`. */
  async *watchMatrix(): AsyncGenerator<MatrixAnswer> {
    const stream = this.#open(() => this.#stub.watchMatrix({}, this.#presented.metadata))
    try {
      for await (const { matrix } of messagesOf(stream, this.#address)) yield matrixAnswer([matrix])
    } finally {
      stream.cancel()
    }
  }

  /** Ends the connection, and every call. A later one rejects with `CANCELLED`. */
  close(): void {
    this.#isClosed = true
    this.#local?.close()
    for (const call of this.#calls) call.cancel()
    this.#stub.close()
  }

  async *#watchChanges(
    begin: () => WatchChangesRequest,
    signal: AbortSignal,
  ): AsyncGenerator<WatchChangesResponse> {
    await this.#connected()
    const stream = this.#open(() => this.#stub.watchChanges(begin(), this.#presented.metadata))
    const cancel = () => stream.cancel()
    signal.addEventListener('abort', cancel)
    try {
      for await (const response of messagesOf(stream, this.#address)) {
        letProgramEnd()
        yield response
      }
    } finally {
      signal.removeEventListener('abort', cancel)
      stream.cancel()
    }
  }

  /** Resolves as soon as there is a connection, and rejects when the client is closed. */
  #connected(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error) => (error === undefined ? resolve() : reject(error))
      this.#begin(() => this.#stub.waitForReady(Number.POSITIVE_INFINITY, settle))
    })
  }

  #refuseIfExposed(): void {
    if (this.#exposed) throw plaintextRefused(this.#address)
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw closedError()
  }

  /** The answer for one of those who may wait for it: the deadline and the signal end the waiting. */
  #untilOver<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const cancel = () => reject(cancelledError())
      const late = setTimeout(
        () => reject(lateError({ address: this.#address, deadlineMs: this.#deadlineMs })),
        Math.min(this.#deadlineMs, TIMER_MS_MAX),
      )
      answer.then(resolve, reject).finally(() => {
        clearTimeout(late)
        signal?.removeEventListener('abort', cancel)
      })
      signal?.addEventListener('abort', cancel)
      if (signal?.aborted) cancel()
    })
  }

  #begin<T>(begin: () => T): T {
    this.#refuseIfClosed()
    return this.#follows ? withIdleSockets(begin) : begin()
  }

  /** Begins a call, which ends with the client. */
  #open<Call extends ClientUnaryCall | ClientReadableStream<never>>(begin: () => Call): Call {
    const call = this.#begin(begin)
    this.#calls.add(call)
    call.once('status', () => this.#calls.delete(call))
    return call
  }

  #call<Request, Response>(
    { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Response>,
    request: Request,
    { signal, endsAtMs = Date.now() + this.#deadlineMs }: CallEnd = {},
  ): Promise<Response> {
    const answer = new Promise<Response>((resolve, reject) => {
      const done = (error: ServiceError | null, response?: Response) => {
        signal?.removeEventListener('abort', cancel)
        if (error === null) resolve(response as Response)
        else reject(new PortcullisError(error, { address: this.#address, deadlineMs: this.#deadlineMs }))
      }
      const [metadata, options] = [this.#presented.metadata, { deadline: endsAtMs }]
      const call = this.#open(() =>
        this.#stub.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          metadata,
          options,
          done,
        ),
      )
      const cancel = () => call.cancel()
      signal?.addEventListener('abort', cancel)
      if (signal?.aborted) cancel()
    })
    return this.#follows ? aliveUntil(answer) : answer
  }
}

function wrongNumberOfAnswers(expected: number, found: number): Error {
  return new Error(`expected ${expected} answers from the sidecar, found ${found}`)
}

/** Resolves when the stream accepts more messages, or has ended. */
function drained(stream: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.removeListener('drain', done).removeListener('close', done)
      resolve()
    }
    stream.once('drain', done).once('close', done)
  })
}

/** The messages of a stream. Its errors become errors of the client. */
async function* messagesOf<T>(stream: ClientReadableStream<T>, address: string): AsyncGenerator<T> {
  // A cancelled stream emits an error after the iteration has ended. Without a listener it would end the
  // process.
  stream.on('error', () => {})
  try {
    for await (const message of stream) yield message as T
  } catch (error) {
    throw typeof (error as ServiceError).code === 'number'
      ? new PortcullisError(error as ServiceError, { address })
      : error
  }
}
