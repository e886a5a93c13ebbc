/** Documents: JSON, JSON with comments and YAML, matrices, queries, and bodies of requests. */
import { compile } from '../../../engine/index.ts'
import { buildIssuanceBody, readIssuanceBody } from '../../../engine/issuance.ts'
import { json, jsonc, readJson } from '../../../matrix/document/index.ts'
import {
  lintFile,
  loadMatrix,
  MatrixError,
  parseMatrix,
  QueryError,
  queryMatrix,
  supportMatrix,
} from '../../../matrix/index.ts'
import { parseQuery } from '../../../matrix/query/parse.ts'
import { yaml } from '../../../matrix/yaml.ts'
import {
  AnswerFault,
  readIssuedToken,
  readValidatedToken,
} from '../../../sidecar/authority/upstream/token-answer.ts'
import { CallError } from '../../../sidecar/base/call-error.ts'
import { expectFields, readDefaults, readEntities } from '../../../sidecar/http/authzen/entities.ts'
import { readCredential, readNewCredential } from '../../../sidecar/http/control-panel/passkey-credentials.ts'
import { readLogin } from '../../../sidecar/http/identity/login-body.ts'
import { smallMatrix } from '../../support/matrices/small-matrix.ts'
import { promised, reading, type Target } from '../target.ts'

const SIGNS = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"',
  '\\u',
  '\\ud800',
  'null',
  'true',
  '1e999',
  '-0',
  '//',
  '/*',
  '*/',
  '__proto__',
  '\u2028',
]

/** The value of a text by `JSON.parse`; undefined: none. */
const parsed = (text: string): { value: unknown } | undefined =>
  reading(() => ({ value: JSON.parse(text) }), SyntaxError)

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** A body of a request as its reader gets it; undefined: it is not JSON. */
function bodyOf(bytes: Buffer): unknown {
  const body = readJson(bytes.toString(), { anyKey: true, firstProblem: true })
  return body.ok ? body.value : undefined
}

/** As a call is refused: the message is short, and repeats no value of the body. */
function refused<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    promised(!error.message.includes('canary') && error.message.length < 20_000, 'a refusal repeats no value')
    return undefined
  }
}

const COMPATIBLE = {
  unscopedLogin: true,
  tokenMethod: true,
  applicationCredentials: true,
  defaultDomain: '123456',
}
const STRICT = {
  unscopedLogin: false,
  tokenMethod: false,
  applicationCredentials: false,
  defaultDomain: undefined,
}

const matrixText = JSON.stringify(smallMatrix())
const described = {
  token: {
    methods: ['password'],
    user: { id: 'u1', name: 'alice', domain: { id: 'd1', name: '123456' } },
    project: { id: 'p1', name: 'alpha', domain: { id: 'd1', name: '123456' } },
    issued_at: '2027-01-31T00:00:00.000000Z',
    expires_at: '2027-02-01T00:00:00.000000Z',
    roles: [{ id: 'r', name: 'member' }],
    audit_ids: ['abc'],
  },
}

export const targets: readonly Target[] = [
  {
    name: 'json',
    runsInTests: 200,
    seeds: [
      '{"a":[1,-0,1e5,"\\u00e9",null,true]}',
      '{"a":1,"a":2}',
      '[1,/*x*/2,]//y',
      '{"__proto__":{}}',
      '"\\ud83d\\ude00"',
      '['.repeat(70),
    ],
    words: SIGNS,
    run: (bytes) => {
      const text = bytes.toString()
      const strict = readJson(text)
      const native = parsed(text)
      if (strict.ok)
        promised(
          native !== undefined && same(native.value, strict.value),
          'a document is read as JSON.parse reads it',
        )
      else {
        promised(strict.problems.length > 0, 'a refusal names a problem')
        if (native !== undefined)
          for (const { expected } of strict.problems)
            promised(
              /each key once|reserved|surrogate|64 bits|64 levels/.test(expected),
              'JSON is refused for what is stricter here',
            )
        json.placesOf(text, ['a', 'a[0].b', ''])
      }
      const commented = jsonc.read(text)
      if (strict.ok)
        promised(commented.ok && same(commented.value, strict.value), 'JSON is JSON with comments')
      const first = readJson(text, { firstProblem: true })
      promised(first.ok === strict.ok, 'one problem is enough')
    },
  },
  {
    name: 'yaml',
    runsInTests: 200,
    seeds: [
      'a: 1\nb:\n  - x\n  - "y"\n',
      '{"a": [1, true, null]}',
      'a: &x 1\nb: *x\n',
      '? a\n: b\n',
      'a: |\n  text\n',
      '%YAML 1.2\n---\na: 1\n',
      '!!binary x',
    ],
    words: [...SIGNS, '\n- ', '\n  ', ': ', '&a', '*a', '!!', '<<', '---', '|', '>', '? ', '#'],
    bytesMax: 256,
    run: (bytes) => {
      const text = bytes.toString()
      const read = yaml.read(text)
      if (!read.ok) {
        promised(read.problems.length > 0, 'a refusal names a problem')
        yaml.placesOf(text, ['a', 'b[0].c'])
        return
      }
      // The independent reader: the result is a value of JSON.
      const again = readJson(JSON.stringify(read.value) ?? 'null')
      promised(again.ok && same(again.value, read.value), 'YAML is read as a value of JSON')
      const strict = readJson(text)
      if (strict.ok) promised(same(strict.value, read.value), 'JSON is the same in YAML')
    },
  },
  {
    name: 'matrix',
    runsInTests: 100,
    seeds: [matrixText, matrixText.replaceAll('"', "'"), JSON.stringify({ ...smallMatrix(), conflicts: [] })],
    words: [...SIGNS, '§', 'table', 'prose', 'account', 'project', '"resolution":'],
    bytesMax: 6_000,
    stepsMax: (bytes) => 400_000 + 4_000 * bytes,
    run: (bytes) => {
      const text = bytes.toString()
      const matrix = reading(() => parseMatrix(text), MatrixError)
      const loaded = reading(() => loadMatrix(text), MatrixError)
      promised(matrix !== undefined || loaded === undefined, 'a matrix that is loaded can be read')
      const findings = lintFile(text)
      promised(
        (loaded !== undefined) === (findings.problems.length === 0),
        'the linter finds a problem where a matrix is not loaded',
      )
      if (loaded === undefined) return
      for (const strict of [false, true]) {
        const engine = compile(loaded, { strict })
        for (const { id: api } of loaded.apis)
          for (const { id: kind } of loaded.tokenKinds) engine.decide({ api, kind, scope: { account: '1' } })
      }
      promised(
        same(loadMatrix(JSON.stringify(loaded)), loaded),
        'a matrix that is written is read as the same',
      )
    },
  },
  {
    name: 'query',
    seeds: [
      'contested and not opens balance',
      '(title ~ "dns" or id in (iam, balance)) and allowed',
      'opened only by static_token',
      'strict != allowed',
      "id = 'iam'",
    ],
    words: [
      'and',
      'or',
      'not',
      'in',
      'opens',
      'opened',
      'only',
      'by',
      '(',
      ')',
      ',',
      '"',
      "'",
      '!=',
      '~',
      '=',
      ' ',
      '\u3000',
    ],
    stepsMax: (bytes) => 60_000 + 4_000 * bytes,
    run: (bytes) => {
      const text = bytes.toString()
      try {
        parseQuery(text)
        queryMatrix(supportMatrix, text)
      } catch (error) {
        if (!(error instanceof QueryError)) throw error
        promised(
          error.column >= 1 && error.column <= Math.max(text.length, 2_000) + 1,
          'an error names a column of the query',
        )
      }
    },
  },
  {
    name: 'login-body',
    seeds: [
      ...[{ account: '123456' }, { account: '123456', project: 'alpha' }].map((scope) =>
        JSON.stringify(
          buildIssuanceBody({ userName: 'alice', account: '123456', password: 'canary', scope }),
        ),
      ),
      JSON.stringify({
        auth: { identity: { methods: ['token'], token: { id: 'canary' } }, scope: 'unscoped' },
      }),
      JSON.stringify({
        auth: {
          identity: {
            methods: ['application_credential'],
            application_credential: { id: 'x', secret: 'canary' },
          },
        },
      }),
    ],
    words: [...SIGNS, 'canary', 'OS-TRUST:trust', 'system', 'unscoped'],
    run: (bytes) => {
      const body = bodyOf(bytes)
      const ours = readIssuanceBody(body)
      const compatible = refused(() => readLogin(body, COMPATIBLE))
      const strict = refused(() => readLogin(body, STRICT))
      promised(
        strict === undefined || compatible !== undefined,
        'compatibility refuses nothing that is accepted without it',
      )
      if (compatible !== undefined)
        promised(
          !JSON.stringify(compatible).includes('canary') ||
            !bytes.includes('"password":"canary"') ||
            bytes.indexOf('canary') !== bytes.lastIndexOf('canary'),
          'a password is not a text',
        )
      if (!ours.ok) return
      promised(
        same(readIssuanceBody(buildIssuanceBody(ours.issuance)), ours),
        'a body that is built is read as the same',
      )
      // The first reader is the one of the source; every login accepts its texts.
      const { scope, userName } = ours.issuance
      promised(strict?.method.type === 'password', 'a body of the source is a login')
      const { user } = strict.method
      if ('name' in user && !('id' in user))
        promised(user.name === userName, 'both readers read the same user')
      promised(
        strict.scope.type === (scope.project === undefined ? 'account' : 'project'),
        'both readers read the same scope',
      )
    },
  },
  {
    name: 'authzen',
    seeds: [
      JSON.stringify({
        subject: { type: 'token', id: 'static_token', properties: { account: '1' } },
        action: { name: 'call' },
        resource: { type: 'api', id: 'iam', properties: { account: '1', project: 'a' } },
        context: { client_address: '::1' },
      }),
      JSON.stringify({
        subject: { type: 'credential', id: '', properties: { headers: { 'x-token': ['canary'] } } },
        action: { name: 'call' },
        resource: { type: 'api', id: 'iam' },
      }),
    ],
    words: [...SIGNS, '"properties"', '"headers"', 'canary'],
    run: (bytes) => {
      const body = bodyOf(bytes)
      const fields = refused(() => expectFields(body, 'the body'))
      if (fields === undefined) return
      const whole = refused(() => readEntities(fields))
      const defaults = refused(() => readDefaults(fields))
      if (whole === undefined) return
      promised(defaults !== undefined, 'a whole document is good for defaults')
      promised(same(readEntities({}, { defaults }), whole), 'defaults stand for what is not there')
      for (const searched of ['subject', 'resource', 'action'] as const)
        refused(() => readEntities(fields, { searched }))
    },
  },
  {
    name: 'passkey-json',
    seeds: [
      JSON.stringify({
        id: 'a',
        rawId: 'a',
        type: 'public-key',
        response: { clientDataJSON: 'e30', attestationObject: 'oA', transports: ['usb'] },
        clientExtensionResults: { credProps: { rk: true } },
      }),
      JSON.stringify({
        id: 'a',
        rawId: 'a',
        type: 'public-key',
        response: { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA', userHandle: null },
      }),
    ],
    words: SIGNS,
    run: (bytes) => {
      const body = bodyOf(bytes)
      refused(() => readNewCredential(body))
      refused(() => readCredential(body))
    },
  },
  {
    name: 'upstream-answers',
    seeds: [
      `201\nabc\n${JSON.stringify(described)}`,
      `200\nabc\n${JSON.stringify(described)}`,
      '201\nabc\n',
      '201\na,b\n{}',
    ],
    words: [...SIGNS, 'Z', '+00:00', '.000000', '"expires_at":', '"catalog":[]'],
    run: (bytes) => {
      const [status = '', token = '', ...body] = bytes.toString().split('\n')
      const nowMs = Date.UTC(2027, 0, 31, 12)
      const answer = { status: Number(status), headers: { 'x-subject-token': token }, body: body.join('\n') }
      const asked = { userName: 'alice', scope: { account: '123456', project: 'alpha' } }
      const issued = refusedAnswer(() => readIssuedToken(answer, asked, nowMs))
      const valid = refusedAnswer(() => readValidatedToken(answer, 'abc', nowMs))
      for (const each of [issued?.described, valid]) {
        if (each === undefined) continue
        promised(
          each.expiresAtMs > nowMs && Number.isFinite(each.issuedAtMs),
          'a token that is believed is not over',
        )
        promised(
          each.scope.account !== '' && each.subject.name !== '',
          'a token that is believed names its holder and scope',
        )
        promised(each.roles.length <= 1_000, 'lists are bounded')
      }
      if (issued !== undefined)
        promised(
          issued.described.scope.account === '123456' && issued.described.scope.project === 'alpha',
          'a token is for the scope that was asked for',
        )
    },
  },
]

/** No message quotes the answer, which may hold a token. */
function refusedAnswer<T>(read: () => T): T | undefined {
  return reading(read, AnswerFault)
}
