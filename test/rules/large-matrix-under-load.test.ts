/**
 * Two large matrices in turn under load: every answer is wholly that of the matrix whose digest it names, in
 * whatever way it is asked.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile, type Engine, type Matrix } from '../../engine/index.ts'
import { planTokens } from '../../matrix/index.ts'
import { BlackBox, type Message } from '../support/contract/black-box.ts'
import { manyApis } from '../support/matrices/large-matrix.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

const APIS = 220
const KINDS = ['iam_token_account_scoped', 'iam_token_project_scoped', 'static_token']

/** They differ in what every API accepts, and in the name of one. */
const ONE = manyApis(APIS, 'one')
const TWO: Matrix = {
  ...manyApis(APIS, 'two'),
  apis: manyApis(APIS, 'two').apis.map((api, index) => ({
    ...api,
    accepts: KINDS.slice(index % KINDS.length).slice(0, 1),
  })),
}
const [first, second] = [ONE, TWO].map((matrix) => compile(matrix)) as [Engine, Engine]
const engines = new Map([first, second].map((engine) => [engine.digest, engine]))

async function run() {
  const path = join(newFolder(), 'matrix.json')
  const put = (text: string) => {
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }
  put(JSON.stringify(ONE))
  const running = await runSidecar({
    flags: { matrix: path, matrix_poll_ms: 5, 'health.address': '127.0.0.1:0' },
  })
  return { ...running, put, box: new BlackBox(running.address) }
}

const claims = (api: string, kind: string) => ({
  api,
  token: {
    kind,
    scope: { account: ACCOUNT, project: kind === 'iam_token_project_scoped' ? 'alpha' : undefined },
  },
})

/** The engine that the answer names. It must be one of the two. */
function namedIn({ digest }: Message): Engine {
  const engine = engines.get(digest as string)
  expect(engine).toBeDefined()
  return engine as Engine
}

test('checks, batches, plans and the matrix itself', async () => {
  const { box, put, sidecar } = await run()
  const ids = ['one', 'two', ...Array.from({ length: 60 }, (_, index) => `api-${index + 1}`)]
  const asked = ids.flatMap((api) => KINDS.map((kind) => claims(api, kind)))
  const expectAnswer = (answer: Message, { api, token }: ReturnType<typeof claims>) => {
    const decision = namedIn(answer).decide({ api, kind: token.kind, scope: token.scope })
    expect(answer).toMatchObject({
      ...{ allowed: decision.allowed, message: decision.message, reason: `REASON_${decision.reason}` },
    })
  }
  const planned = ids.slice(2, 12)
  const round = async (index: number) => {
    const question = asked[index % asked.length] as ReturnType<typeof claims>
    const [answer, { results }, plan, { matrix }] = (await Promise.all([
      box.ask('check', question),
      box.ask('checkBatch', { checks: asked }),
      box.ask('plan', { apis: planned }),
      box.ask('getMatrix', {}),
    ])) as [Message, { results: Message[] }, Message, { matrix: Message & { apis: Message[] } }]
    expectAnswer(answer, question)
    expect(new Set(results.map(({ digest }) => digest)).size).toBe(1)
    for (const [place, result] of results.entries()) expectAnswer(result, asked[place] as typeof question)
    const { tokens } = planTokens(namedIn(plan), planned)
    expect((plan.tokens as Message[]).map(({ kind, apis }) => ({ kind, apis }))).toEqual(
      tokens.map(({ kind, apis }) => ({ kind: kind.id, apis })),
    )
    expect(matrix.apis.map(({ id, accepted }) => ({ id, accepted }))).toEqual(
      Array.from(namedIn(matrix).apis.values(), ({ id, accepted }) => ({
        id,
        accepted: accepted.map(({ kind }) => kind),
      })),
    )
  }
  let rounds = 0
  for (const wanted of [TWO, ONE, TWO, ONE]) {
    put(JSON.stringify(wanted))
    const digest = wanted === ONE ? first.digest : second.digest
    do await round(rounds++)
    while (sidecar.matrixDigest !== digest)
    await round(rounds++)
  }
})
