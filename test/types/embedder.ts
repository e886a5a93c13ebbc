/** Code of an embedder that the types allow, or refuse. It is not run: types.test.ts has it checked. */
import {
  buildIssuanceBody,
  type CellHandle,
  type CompiledApi,
  compile,
  type Decision,
  type Engine,
  type Matrix,
  type MatrixInput,
  type Question,
  type TokenKind,
} from '../../engine/index.ts'
import {
  loadMatrix,
  MatrixError,
  planTokens,
  type SupportMatrixApiId,
  type SupportMatrixKindId,
  supportMatrix,
} from '../../matrix/index.ts'

/** Whether two types are the same, which is more than that one fits the other. */
type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false
const expectTrue = <Claim extends true>(claim?: Claim): void => void claim

expectTrue<Same<'a' | 'b', 'b' | 'a'>>()
// @ts-expect-error a literal is not any string
expectTrue<Same<'a', string>>()

// The shipped matrix: its ids are known, so a misspelt one does not compile and an editor completes the right
// ones.
const engine = compile(supportMatrix)
const scope = { account: '123456' }
expectTrue<Same<typeof engine, Engine<SupportMatrixKindId, SupportMatrixApiId>>>()
expectTrue<Same<Parameters<typeof engine.decide>[0]['api'], SupportMatrixApiId>>()
expectTrue<Same<Parameters<typeof engine.decide>[0]['kind'], SupportMatrixKindId>>()
engine.decide({ api: 'audit-logs', kind: 'static_token', scope })
// @ts-expect-error a misspelt API
engine.decide({ api: 'audit-log', kind: 'static_token', scope })
// @ts-expect-error a misspelt kind
engine.decide({ api: 'audit-logs', kind: 'static-token', scope })
// @ts-expect-error the names the wrong way round
engine.decide({ api: 'static_token', kind: 'audit-logs', scope })
engine.handle('iam_token_account_scoped', 'iam')
// @ts-expect-error a misspelt API
engine.handle('iam_token_account_scoped', 'aim')
// @ts-expect-error a misspelt kind
engine.handle('iam_token', 'iam')
engine.deny('iam', 'CREDENTIAL_MISSING', 'static_token')
// @ts-expect-error a misspelt API
engine.deny('aim', 'CREDENTIAL_MISSING')
// @ts-expect-error a reason that no credential has
engine.deny('iam', 'ALLOWED')
engine.apis.get('iam')
// @ts-expect-error a misspelt API
engine.apis.get('aim')
for (const api of engine.apis.keys())
  for (const kind of engine.tokenKinds.keys()) engine.decide({ api, kind, scope })

// An engine's answers about kinds and APIs have the same ids.
const decision = engine.decide({ api: 'iam', kind: 'static_token', scope })
expectTrue<Same<typeof decision, Decision<SupportMatrixKindId>>>()
expectTrue<Same<(typeof decision.accepted)[number]['kind'], SupportMatrixKindId>>()
// @ts-expect-error a decision is shared, so no client may change it
decision.allowed = true

// An engine with known ids is an engine: code that takes one, or asks it with strings of run time, takes it
// as `Engine`.
const plain: Engine = engine
const any: Matrix = supportMatrix
const ofRunTime: string = JSON.parse('"iam"')
plain.decide({ api: ofRunTime, kind: ofRunTime, scope })
plain.apis.get(ofRunTime)
planTokens(engine, [ofRunTime])
planTokens(compile(any), ['iam'])
const kinds: Iterable<TokenKind> = engine.tokenKinds.values()
const apis: Iterable<CompiledApi> = engine.apis.values()
const asked: Question = { api: ofRunTime, kind: ofRunTime, scope }
// @ts-expect-error the compiler cannot know which API a string of run time names
engine.decide(asked)

// A matrix that is read at run time has any ids.
const loaded = compile(loadMatrix('{}'))
expectTrue<Same<typeof loaded, Engine>>()
loaded.decide({ api: 'anything', kind: 'anything', scope })

// A matrix of one's own, written where it is compiled or with `satisfies`; statements and conflicts may be
// absent.
const kind = {
  id: 'day_pass',
  title: 'day pass',
  family: 'paper',
  scopeLevel: 'account',
  header: 'X-Day-Pass',
  issuedTo: 'guest',
  obtained: { by: 'issue' },
  permissionScopes: [],
  lifetimeSeconds: null,
  section: '1',
} as const
const lobby = { id: 'lobby', title: 'Lobby', accepts: ['day_pass'], section: '2' } as const
const own = { title: 'Doors', tokenKinds: [kind], apis: [lobby] } as const satisfies MatrixInput
const doors = compile(own)
expectTrue<Same<typeof doors, Engine<'day_pass', 'lobby'>>>()
const written = compile({ title: 'Doors', tokenKinds: [kind], apis: [{ ...lobby, id: 'library' }] })
expectTrue<Same<typeof written, Engine<'day_pass', 'library'>>>()
// @ts-expect-error the lobby accepts a kind that the matrix does not have
compile({ title: 'Doors', tokenKinds: [kind], apis: [{ ...lobby, accepts: ['day_pas'] }] })

// A handle comes from an engine, and from nowhere else.
const handle: CellHandle = engine.handle('static_token', 'iam')
engine.decideAt(handle, scope)
// @ts-expect-error the number that a handle once was
engine.decideAt(1, scope)
// @ts-expect-error an object of the same looks
engine.decideAt({}, scope)

// An optional value may be given as `undefined`.
compile(supportMatrix, { strict: undefined })
compile({ ...own, statements: undefined, conflicts: undefined })
compile({ ...own, tokenKinds: [{ ...kind, obtained: { by: 'control_panel', steps: undefined } }] })
engine.decide({ api: 'iam', kind: 'static_token', scope, target: undefined, holder: undefined })
engine.decide({ api: 'iam', kind: 'static_token', scope: { account: '1', project: undefined } })
engine.decideAt(handle, scope, undefined, undefined)
engine.deny('iam', 'CREDENTIAL_MISSING', undefined, undefined)
buildIssuanceBody({ userName: 'a', account: '1', password: 'b', scope: { account: '1', project: undefined } })
new MatrixError([], undefined)
// @ts-expect-error a scope is not optional
engine.decide({ api: 'iam', kind: 'static_token', scope: undefined })

export { apis, kinds }
