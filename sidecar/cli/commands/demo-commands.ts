/** Commands to try with a demo account, by the content of the matrix. */
import { fieldValue } from '../../../engine/credentials.ts'
import type { CompiledApi, Engine, TokenKind } from '../../../engine/index.ts'
import { withArticle } from '../../../engine/messages.ts'

interface DemoAccount {
  readonly account: string
  readonly serviceUser: { readonly name: string; readonly password: string }
  /** `undefined`: the matrix has no kind for it. */
  readonly staticToken: string | undefined
}

/** The kind of a token that a service user gets for an account; `undefined`: there is none. */
function accountKind({ tokenKinds }: Engine): TokenKind | undefined {
  return [...tokenKinds.values()].find(
    ({ obtained, scopeLevel }) => obtained.by === 'issue' && scopeLevel === 'account',
  )
}

/** The kind that a control panel user creates; `undefined`: there is none. */
export function staticKind({ tokenKinds }: Engine): TokenKind | undefined {
  return [...tokenKinds.values()].find(({ obtained }) => obtained.by === 'control_panel')
}

const takes = ({ accepted }: CompiledApi, kind: TokenKind | undefined) =>
  accepted.some((each) => each.kind === kind?.id)

export interface DemoPaths {
  /** The data folder. */
  readonly data: string
  /** `undefined`: the matrix of the package. */
  readonly matrix: string | undefined
}

export function demoCommands(engine: Engine, demo: DemoAccount, { data, matrix }: DemoPaths): string[] {
  const { account, serviceUser, staticToken } = demo
  const [issued, made] = [accountKind(engine), staticKind(engine)]
  const apis = [...engine.apis.values()]
  const opened =
    apis.find((api) => takes(api, issued) && takes(api, made)) ?? apis.find((api) => takes(api, issued))
  const closed =
    apis.find((api) => takes(api, made) && !takes(api, issued)) ?? apis.find((api) => !takes(api, issued))
  const [doubtful] = apis.toSorted((one, other) => other.contested.length - one.contested.length)
  const withMade = closed !== undefined && takes(closed, made) ? closed : apis.find((api) => takes(api, made))
  const commands: [command: string, does: string][] = []
  if (issued !== undefined) {
    const title = withArticle(issued.title)
    commands.push([`export PORTCULLIS_PASSWORD=${serviceUser.password}`, ''])
    commands.push([
      `export PORTCULLIS_HEADER=$(npx portcullis issue --account ${account} --user ${serviceUser.name})`,
      '',
    ])
    if (opened !== undefined)
      commands.push([`npx portcullis check ${opened.id}`, `allowed: ${opened.id} takes ${title}`])
    if (closed !== undefined)
      commands.push([
        `npx portcullis check ${closed.id}`,
        `denied: ${closed.id} ${refusal(closed, made, title)}`,
      ])
  }
  if (made !== undefined && staticToken !== undefined && withMade !== undefined) {
    const header = `${made.header}: ${fieldValue(made, staticToken)}`
    commands.push([`echo '${header}' | npx portcullis check ${withMade.id} -H -`, ''])
  }
  commands.push([
    `npx portcullis project create ${account} another --data '${data}'`,
    'administration takes the data folder',
  ])
  if (doubtful !== undefined)
    commands.push([
      `npx portcullis explain ${doubtful.id}${matrix === undefined ? '' : ` --matrix '${matrix}'`}`,
      `what the source says${doubtful.contested.length > 0 ? ', and where it contradicts itself' : ''}`,
    ])
  return commands.map(([command, does]) => (does === '' ? command : `${command.padEnd(COLUMN)}  # ${does}`))
}

/** Where what a command does stands beside it. */
const COLUMN = 46

function refusal({ accepted }: CompiledApi, made: TokenKind | undefined, issued: string): string {
  const isOnly = accepted.length === 1 && accepted[0]?.kind === made?.id
  return isOnly && made !== undefined ? `takes ${withArticle(made.title)} only` : `does not take ${issued}`
}
