/** Programs that use a package as TypeScript's users do: what compiles in them, and what must not. */

export interface Consumer {
  /** Folders of the packages that are installed. */
  readonly packages: readonly string[]
  /** Ambient types that its project has. */
  readonly types: readonly string[]
  readonly program: string
}

export const consumers: Readonly<Record<string, Consumer>> = {
  '@portcullis/engine': {
    packages: ['engine'],
    types: [],
    program: `import { compile, type Decision, type Engine, type Matrix, type Question, REASONS, type Reason } from '@portcullis/engine'

declare const matrix: Matrix
const engine: Engine = compile(matrix, { strict: true })
const question: Question = { api: 'iam', kind: 'static_token', scope: { account: '123456' } }
const decision: Decision = engine.decide(question)
const reason: Reason = decision.reason
const allowed: boolean = decision.allowed
const known: readonly string[] = REASONS

// @ts-expect-error a decision is shared, so no client may change it
decision.allowed = true
// @ts-expect-error a scope is never left out
engine.decide({ api: 'iam', kind: 'static_token' })
// @ts-expect-error a reason is one of a closed list
const wrong: Reason = 'SOMETHING_ELSE'

export { allowed, known, reason, wrong }
`,
  },
  '@portcullis/matrix': {
    packages: ['matrix'],
    types: [],
    program: `import { lintMatrix, loadMatrix, MatrixError, supportMatrix } from '@portcullis/matrix'
import table from '@portcullis/matrix/support-matrix.json' with { type: 'json' }

const problems: readonly { path: string }[] = lintMatrix(loadMatrix('{}')).problems
const error: Error = new MatrixError([])
const apis: number = table.apis.length + supportMatrix.apis.length

// @ts-expect-error the shipped matrix is frozen
supportMatrix.apis = []

export { apis, error, problems }
`,
  },
  'engine and matrix': {
    packages: ['engine', 'matrix'],
    types: [],
    program: `import { compile, type Engine } from '@portcullis/engine'
import { loadMatrix, planTokens, supportMatrix } from '@portcullis/matrix'

const shipped = compile(supportMatrix)
const own: Engine = compile(loadMatrix('{}'))
const kinds: string[] = planTokens(shipped, ['iam']).tokens.map((token) => token.kind.id)
const others: string[] = planTokens(own, ['iam']).tokens.map((token) => token.kind.id)
const handle = shipped.handle('static_token', 'reports')
const allowed: boolean = shipped.decideAt(handle, { account: '123456' }).allowed

// @ts-expect-error the types of the shipped matrix know its ids
shipped.handle('static_token', 'report')

export { allowed, kinds, others }
`,
  },
  '@portcullis/client': {
    packages: ['clients/typescript'],
    types: ['node'],
    program: `import { createServer } from 'node:http'
import { type Client, type CheckAnswer, connect, PortcullisError } from '@portcullis/client'
import { requireToken as ofFastify } from '@portcullis/client/fastify'
import { requireToken as ofHono } from '@portcullis/client/hono'
import { answerOf, requireToken } from '@portcullis/client/node'

const gate = requireToken('balance', { target: ({ url }) => ({ account: url ?? '' }) })
const server = createServer((request, response) =>
  gate(request, response, () => response.end(answerOf(request)?.token?.subject.name)),
)
const hooks = [ofFastify('balance', { hideOthers: true }), ofHono('balance')]
const client: Client = connect('127.0.0.1:50051', { deadlineMs: 1000 })
const answer: Promise<CheckAnswer> = client.check({ api: 'iam', credentials: { 'X-Token': 'a' } })
const reason: Promise<string> = answer.then(({ reason }) => reason)
const account = client.directory.createAccount({ account: '123456' })
const code = (error: PortcullisError): 'UNAVAILABLE' | string => error.code

// @ts-expect-error a check is of credentials or of a token
client.check({ api: 'iam' })

export { account, code, hooks, reason, server }
`,
  },
  portcullis: {
    packages: ['sidecar'],
    types: ['node'],
    program: `import { type Config, readConfig, type Sidecar, startSidecar } from 'portcullis'

const config: Config = readConfig({ flags: { strict: true } })
const sidecar: Promise<Sidecar> = startSidecar(config)
const address: Promise<string> = sidecar.then(({ grpcAddress }) => grpcAddress)

// @ts-expect-error a configuration is read, and not written
config.strict = false

export { address }
`,
  },
}
