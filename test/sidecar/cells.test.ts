/** The 90 cells of §5.4, through every call that decides, by default and in strict mode. */
import { describe, expect, test } from 'vitest'
import { compile, type Engine } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import {
  askBatch,
  askStream,
  claimsAnswer,
  credentialQuestion,
  decisionMessage,
} from '../support/contract/answers.ts'
import { BlackBox, type Message } from '../support/contract/black-box.ts'
import { cells, type PrintedCell, scopeFor } from '../support/matrices/oracle.ts'
import { issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'

/** The conflicts that bear on a cell, from the notes to the table (§5.4). */
const CONFLICTS: ReadonlyMap<string, string> = new Map([
  ['audit-logs iam_token_project_scoped', 'audit-logs-project-contradiction'],
  ['audit-logs iam_token_account_scoped', 'audit-logs-account-omission'],
  ['cdn iam_token_project_scoped', 'cdn-project-omission'],
  ['mobile-farm iam_token_project_scoped', 'mobile-farm-project-omission'],
])
/** Note 1: the row is printed twice with equal values, so it makes no cell contested. */
const REPEATED_ROW = { api: 'cloud-quotas', conflict: 'cloud-quotas-duplicate-row' }

const conflictOf = ({ api, kind }: PrintedCell) => CONFLICTS.get(`${api} ${kind}`)
const reasonOf = (cell: PrintedCell, strict: boolean) => {
  if (!cell.accepted) return 'REASON_TOKEN_KIND_NOT_ACCEPTED'
  return strict && conflictOf(cell) !== undefined ? 'REASON_CONTESTED' : 'REASON_ALLOWED'
}

describe.each([
  { mode: 'by default', strict: false },
  { mode: 'in strict mode', strict: true },
])('$mode', async ({ strict }) => {
  const running = await runSidecar({ flags: { strict } })
  const box = new BlackBox(running.address)
  const secrets = await populate(running)
  const engine: Engine = compile(supportMatrix, { strict })
  const tokens: Readonly<Record<string, string>> = {
    iam_token_account_scoped: (await issued(running, secrets)).value,
    iam_token_project_scoped: (await issued(running, secrets, { project: 'alpha' })).value,
    static_token: secrets.staticToken,
  }

  const claims = ({ api, kind }: PrintedCell): Message => ({ api, token: { kind, scope: scopeFor(kind) } })
  const credential = ({ api, kind, header }: PrintedCell): Message =>
    credentialQuestion(api, header, tokens[kind] ?? '')
  /** The decision of the engine in this process, in the form that gRPC must return. */
  const decided = ({ api, kind }: PrintedCell) => engine.decide({ api, kind, scope: scopeFor(kind) })

  const expectPrinted = (answer: Message, cell: PrintedCell) => {
    const reason = reasonOf(cell, strict)
    const conflicts = (answer.conflicts as Message[]).map(({ id }) => id)
    expect({ ...answer, conflicts }).toMatchObject({
      allowed: reason === 'REASON_ALLOWED',
      reason,
      header: cell.header,
      conflicts: [
        ...(conflictOf(cell) === undefined ? [] : [conflictOf(cell)]),
        ...(cell.api === REPEATED_ROW.api ? [REPEATED_ROW.conflict] : []),
      ],
    })
  }

  test.each(cells())('a claim of $kind for $api is answered as the table prints it', async (cell) => {
    const answer = await box.ask('check', claims(cell))
    expectPrinted(answer, cell)
    expect(answer).toEqual(claimsAnswer(decided(cell)))
  })

  test.each(cells())('a genuine $kind for $api is answered as the table prints it', async (cell) => {
    const answer = await box.ask('check', credential(cell))
    expectPrinted(answer, cell)
    expect(answer).toMatchObject({
      ...decisionMessage(decided(cell)),
      verified: true,
      cache_for: { seconds: 5, nanos: 0 },
      // On denials too, so that a log can name the holder.
      token: {
        kind: cell.kind,
        scope: { project: '', ...scopeFor(cell.kind) },
        subject:
          cell.kind === 'static_token'
            ? { name: 'owner', type: 'control_panel_user' }
            : { name: 'account', type: 'service_user' },
      },
    })
  })

  test.each([
    { what: 'claims', question: claims },
    { what: 'credentials', question: credential },
  ])('a batch and a stream answer $what as single checks do', async ({ question }) => {
    const questions = cells().map(question)
    const singly = await Promise.all(questions.map((each) => box.ask('check', each)))
    expect(await askBatch(box, questions)).toEqual(singly)
    expect(await askStream(box, questions)).toEqual(singly)
  })
})
