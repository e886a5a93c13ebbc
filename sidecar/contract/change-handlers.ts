/** The handlers of `WatchChanges` and `DescribeTokens`, which followers call. */
import type { Admitting, Clocked, Following, PerCall, Reporting, Ruled } from '../usecases/capabilities.ts'
import { type Describing, describeTokens } from '../usecases/describe-tokens.ts'
import type { CallContext, ServerStreamMethod, UnaryMethod } from './call.ts'
import {
  describeTokensResponse,
  type EncodedRules,
  promotedMatrixResponse,
  readDescribeTokensRequest,
  readWatchChangesRequest,
} from './change-messages.ts'
import { Followers } from './followers.ts'
import { expectNotOver, nameOfConnection } from './handler.ts'
import { Watches } from './watches.ts'

interface ChangeHandlers {
  readonly watchChanges: ServerStreamMethod
  readonly describeTokens: UnaryMethod
  readonly getPromotedMatrix: UnaryMethod
}

type ChangeServices = PerCall<Describing> & Admitting & Clocked & Following & Reporting & Ruled

/** A caller with the right stands for as many hosts as follow with its token. */
const BOUNDS = { ofConnection: 100, ofSource: 20_000, ofAll: 20_000 }

/**
 * Makes the handler. `expectFollower` lets in followers alone, before their request is read. `endFollowing`
 * ends the streams, which would otherwise never end.
 *
 * @param encodedRules of the engine in force
 * @param reachable whether other machines can reach the listener
 */
export function changeHandlers(
  services: ChangeServices,
  encodedRules: () => EncodedRules,
  reachable: boolean,
): {
  handlers: ChangeHandlers
  expectFollower: (context: CallContext) => void
  endFollowing: () => void
} {
  const { callers, rules, changes, promoted, basis, meters, intake, turns, now: timeOfDay } = services
  const watches = new Watches(callers, reachable, BOUNDS)
  const followers = new Followers({
    ...{ changes, callers, watches, rules: encodedRules, timeOfDay },
    basis: () => basis(rules.engine),
  })
  meters?.countFollowers(() => followers.size)
  rules.watch(() => followers.rulesChanged())
  return {
    handlers: {
      watchChanges: (request, responses, context) =>
        followers.open(
          context,
          followers.expect(context, reachable),
          responses,
          readWatchChangesRequest(request),
        ),
      describeTokens: (request, context) => {
        const { name } = followers.expect(context, reachable)
        const begunMs = performance.now()
        return intake.follower(name, nameOfConnection(context), async () => {
          // Many waited before it, and the follower may have asked again meanwhile.
          expectNotOver(context, performance.now() - begunMs)
          const { tokens, after } = readDescribeTokensRequest(request)
          await followers.expectToHave(after)
          // Named before they are looked up: a change that comes meanwhile has a later position.
          const inForce = services.forCall()
          const of = { position: changes.latest(), basis: basis(inForce.engine).name }
          const described = await describeTokens({ ...inForce, turns }, tokens, context.connection)
          return describeTokensResponse(described, of)
        })
      },
      getPromotedMatrix: async (_request, context) => {
        followers.expect(context, reachable)
        return promotedMatrixResponse(await promoted.inForce())
      },
    },
    expectFollower: (context) => void followers.expect(context, reachable),
    endFollowing: () => followers.end(),
  }
}
