/** Control panel users who log in with a password and a one-time code, or with a passkey. */
import type { Client } from '../../clients/typescript/index.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import {
  addPasskey,
  beginCode,
  optionsOfNewPasskey,
  setCode,
} from '../../sidecar/usecases/control-panel/factors.ts'
import { acceptInvitation } from '../../sidecar/usecases/control-panel/log-in.ts'
import type { PanelCall } from '../../sidecar/usecases/control-panel/panel-call.ts'
import { Authenticator } from '../support/identity/authenticator.ts'
import { codeAt } from '../support/identity/totp.ts'
import type { Worker } from './fleet.ts'
import { ACCOUNTS } from './operations.ts'
import { network } from './world/network.ts'
import { world } from './world/world.ts'

export interface Member {
  readonly account: string
  readonly name: string
  readonly password: string
  /** Of the one-time codes, in base32. */
  readonly codes: string
  readonly passkey: Authenticator
}

/** How long a one-time code is the present one, in milliseconds. */
export const CODE_MS = 30_000

const NAME = 'member'
/** Is invited, and sent links. */
export const GUEST = 'guest'

/** The URL by which browsers call the page. */
const PAGE = 'http://localhost'

/** A request of a browser without a session. */
export const CALL: PanelCall = {
  ...{ clientAddress: '127.0.0.1', connection: 'a browser', requestId: 'a request' },
  ...{ client: 'a browser', page: PAGE, session: undefined },
}

/** One of each account. */
export async function setUpMembers({ directory }: Client, { panel = '' }: Worker): Promise<Member[]> {
  const members: Member[] = []
  for (const account of ACCOUNTS) {
    const password = `password of ${account.length} digits`
    for (const name of [NAME, GUEST]) await directory.createControlPanelUser({ account, name })
    const { secret } = await directory.createInvitation({ account, userName: NAME })
    const { session } = await network.browse(panel, (services) =>
      acceptInvitation(services, CALL, secret, new Secret(password)),
    )
    const call = { ...CALL, session: session.hash }
    const setup = await network.browse(panel, (services) => beginCode(services, call))
    const codes = setup.secret.reveal()
    const shown = { sealed: setup.sealed, code: codeAt(codes, Date.now()) }
    await network.browse(panel, (services) => setCode(services, call, shown))
    // It does not count its uses: it would remember those of another seed.
    const passkey = new Authenticator('EdDSA', false)
    const options = await network.browse(panel, (services) => optionsOfNewPasskey(services, call))
    const made = { name: 'a passkey', response: passkey.create(options, PAGE) }
    await network.browse(panel, (services) => addPasskey(services, call, made))
    members.push({ account, name: NAME, password, codes, passkey })
  }
  // The code that set it up is of an earlier time, so that the present one is not used up.
  world.directory.alter('UPDATE panel_codes SET last_step = last_step - 9', [])
  return members
}
