/**
 * `portcullis.v1.AuthorizationService`: each handler reads the request, calls a use case, and writes the
 * response. Bytes come in and go out as they are, so that an answer encoded once is sent as often as asked.
 */
import type { handleBidiStreamingCall, handleServerStreamingCall, ServerUnaryCall } from '@grpc/grpc-js'
import type { Engine } from '../../engine/index.ts'
import { planTokens } from '../../matrix/index.ts'
import { AuthorizationServiceService } from '../gen/portcullis/v1/authorization.ts'
import { checkClaims, checkCredentials } from '../usecases/check.ts'
import { issue, refuseUnknownApis } from '../usecases/issue.ts'
import { PROFILES_ORIGIN, profileFor } from '../usecases/profiles.ts'
import { revoke } from '../usecases/revoke.ts'
import type { Services } from '../usecases/services.ts'
import { type CheckQuestion, readCheck, readCheckBatch, readNumberedCheck } from './check-request.ts'
import { failure, passThrough, remoteAddress, type Unary, unaryHandler } from './handler.ts'
import { readIssueRequest, readPlanRequest, readRevokeRequest } from './requests.ts'
import {
  checkBatchResponse,
  checkStreamResponse,
  EncodedAnswers,
  issueResponse,
  matrixResponse,
  planResponse,
  revokeResponse,
} from './responses.ts'

export interface AuthorizationOptions {
  /** Longest `CheckBatch`. */
  readonly batchLengthMax: number
  /** Whether other machines can reach the listener. */
  readonly reachable: boolean
}

type Call = ServerUnaryCall<Buffer, Buffer>
type ServerStream = handleServerStreamingCall<Buffer, Buffer>
type BidiStream = handleBidiStreamingCall<Buffer, Buffer>

type Service = typeof AuthorizationServiceService
/** The generated service with bytes for messages. */
type Handlers = {
  [Method in keyof Service]: Service[Method]['responseStream'] extends false
    ? Unary
    : Service[Method]['requestStream'] extends false
      ? ServerStream
      : BidiStream
}

export const authorizationService = passThrough(AuthorizationServiceService)

/** The handlers; `endStreams` ends what would otherwise never end. */
export function authorizationHandlers(
  services: Services,
  options: AuthorizationOptions,
): { handlers: Handlers; endStreams: () => void } {
  const { rules, authority, callers, profiles, now, log } = services
  const watching = new Set<() => void>()
  let answers = new EncodedAnswers(rules.engine, services.cacheForMs)
  let engine = rules.engine
  rules.watch((changed) => {
    // Both together, so that no question meets answers of another engine.
    answers = new EncodedAnswers(changed, services.cacheForMs)
    engine = changed
  })

  const answer = (checked: CheckQuestion): Buffer | Promise<Buffer> => {
    if (checked.type === 'claims') return answers.forClaims(checkClaims(engine, checked.question))
    const encoded = answers
    const outcome = checkCredentials(engine, authority, checked.question)
    return outcome instanceof Promise
      ? outcome.then((value) => encoded.forCredentials(value, now()))
      : encoded.forCredentials(outcome, now())
  }

  const unary = (handle: (request: Buffer, call: Call, engine: Engine) => Buffer | Promise<Buffer>): Unary =>
    unaryHandler(log, (request, _metadata, call) => handle(request, call, engine))

  const callerOf = ({ metadata }: Call) => callers.find(metadata.get('authorization').map(String))

  const handlers: Handlers = {
    check: unary((request) => answer(readCheck(request))),

    checkBatch: unary((request) => {
      const results = readCheckBatch(request, options.batchLengthMax).map(answer)
      return results.every(isThere)
        ? checkBatchResponse(results)
        : Promise.all(results).then(checkBatchResponse)
    }),

    checkStream: (call) => {
      // One question at a time: answers keep their order, and a slow reader holds back the sender.
      const answerAll = async () => {
        // Leaving the loop must not destroy the call: a destroyed call never sends the status of a failure.
        for await (const request of call.iterator({ destroyOnReturn: false })) {
          const { id, question } = readNumberedCheck(request)
          const result = answer(question)
          const response = checkStreamResponse(id, result instanceof Promise ? await result : result)
          if (!call.write(response)) await drained(call)
        }
        call.end()
      }
      answerAll().catch((error) => {
        if (!call.cancelled) call.emit('error', failure(log, error))
      })
    },

    issue: unary(async (request, call, engine) => {
      const { requester, purpose } = readIssueRequest(request)
      const holder =
        requester.type === 'password' ? requester : profileFor(profiles, requester.name, callerOf(call))
      const from = requester.type === 'password' ? remoteAddress(call, options.reachable) : PROFILES_ORIGIN
      return issueResponse(await issue(engine, authority, holder, purpose, from))
    }),

    revoke: unary(async (request, call, engine) => {
      const revocation = readRevokeRequest(request)
      return revokeResponse(
        await revoke(
          engine,
          authority,
          revocation.type === 'value' ? revocation : { ...revocation, caller: callerOf(call) },
          now(),
        ),
      )
    }),

    plan: unary((request, _call, engine) => {
      const { apis } = readPlanRequest(request)
      refuseUnknownApis(engine, apis, 'apis')
      return planResponse(engine, planTokens(engine, apis))
    }),

    getMatrix: unary((_request, _call, engine) => matrixResponse(engine)),

    watchMatrix: (call) => {
      const unwatch = rules.watch((changed) => call.write(matrixResponse(changed)))
      const end = () => call.end()
      const forget = () => {
        unwatch()
        watching.delete(end)
      }
      watching.add(end)
      for (const event of ['cancelled', 'close', 'error', 'finish']) call.on(event, forget)
      call.write(matrixResponse(rules.engine))
    },
  }
  return {
    handlers,
    endStreams: () => {
      for (const end of watching) end()
    },
  }
}

function isThere(result: Buffer | Promise<Buffer>): result is Buffer {
  return !(result instanceof Promise)
}

/** Resolves when the reader has taken what was written, or is gone. */
function drained(call: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ['drain', 'cancelled', 'close', 'error']) call.removeListener(event, done)
      resolve()
    }
    for (const event of ['drain', 'cancelled', 'close', 'error']) call.once(event, done)
  })
}
