/** The command line, in this process. */
import type { Command } from 'commander'
import { addCheckCommand } from '../../../sidecar/cli/commands/check.ts'
import { addExplainCommand } from '../../../sidecar/cli/commands/explain.ts'
import { emptyProgram } from '../../../sidecar/cli/empty-program.ts'
import { STATIC_KIND, strictEngine } from '../../support/matrices/engines.ts'
import { ended } from '../../support/processes/command-line.ts'
import type { Ended } from '../../support/processes/processes.ts'
import { type Answer, answerOfContract, oneByOne, type Protocol } from '../protocol.ts'
import type { Question } from '../questions.ts'

export const COMMANDS: readonly Protocol[] = [
  {
    name: 'portcullis check',
    files: ['sidecar/cli/commands/check.ts'],
    announced: [],
    silent: ({ subject }) =>
      'headers' in subject && subject.headers.length === 0 ? 'it asks for a header' : undefined,
    ask: ({ address }, questions) =>
      oneByOne(questions, async (question) => {
        const words = ['check', question.api, ...wordsFor(question), '--json', '--address', address]
        const { code, stdout, stderr } = await ended(alone(), words)
        if (stdout === '') throw new Error(stderr)
        return agreeing(answerOfContract(JSON.parse(stdout)), code)
      }),
  },
  {
    name: 'portcullis explain',
    files: ['sidecar/cli/commands/explain.ts'],
    announced: [],
    silent: ({ known, fault, target, reason }) => {
      if (known === undefined || fault !== undefined) return 'it is asked about kinds of tokens'
      if (target !== undefined || reason === 'UNKNOWN_API')
        return 'it is asked about APIs of the matrix alone'
      // Static tokens are those of control panel users anyway.
      const { kind, holder } = known
      return kind !== STATIC_KIND && holder === 'control_panel_user' ? 'it knows no holder' : undefined
    },
    ask: ({ sidecar }, questions) =>
      oneByOne(questions, async ({ api, known }) => {
        const mode = sidecar.rulesDigest === strictEngine.rulesDigest ? ['--strict'] : []
        const { code, stdout } = await ended(alone(), ['explain', api, known?.kind ?? '', ...mode, '--json'])
        const [{ decision }] = JSON.parse(stdout) as [{ decision: object }]
        return agreeing(answerOfContract(decision), code)
      }),
  },
]

/** The program, with these two commands alone: it is made for each question. */
function alone(): Command {
  const program = emptyProgram()
  for (const add of [addCheckCommand, addExplainCommand]) add(program)
  return program
}

function wordsFor({ subject, target, clientAddress }: Question): string[] {
  const options = (pairs: Readonly<Record<string, string | undefined>>) =>
    Object.entries(pairs).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]))
  const asked =
    'claims' in subject
      ? options({ kind: subject.claims.kind, ...subject.claims.scope })
      : subject.headers.flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  return [
    ...asked,
    ...options({
      'target-account': target?.account,
      'target-project': target?.project,
      'client-address': clientAddress,
    }),
  ]
}

/** Scripts read the exit code. */
function agreeing(answer: Answer, code: Ended['code']): Answer {
  if (code !== (answer.allowed ? 0 : 1)) throw new Error(`the exit code ${code} says something else`)
  return answer
}
