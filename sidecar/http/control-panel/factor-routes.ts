/** The factors of a session's user, and their changes: `/console/factors`. */
import {
  addPasskey,
  beginCode,
  deleteCode,
  deletePasskey,
  type FactorsView,
  factorsOf,
  optionsOfNewPasskey,
  replaceOwnPassword,
  setCode,
} from '../../usecases/control-panel/factors.ts'
import type { Fields, PanelRoutes } from './panel-exchange.ts'
import { readNewCredential } from './passkey-credentials.ts'

const FACTORS = '/console/factors'

const nothing = () => undefined

export function addFactorRoutes(routes: PanelRoutes): void {
  routes.get(FACTORS, async ({ services, call }) => {
    const { passwordChangedAtMs, codeCreatedAtMs, passkeys } = await factorsOf(services, call)
    return {
      password: passwordChangedAtMs === undefined ? null : { changedAtMs: passwordChangedAtMs },
      code: codeCreatedAtMs === undefined ? null : { createdAtMs: codeCreatedAtMs },
      passkeys: passkeys.map(passkeyJson),
    }
  })
  const readPasswords = (fields: Fields) => ({
    current: fields.has('current') ? fields.secret('current') : undefined,
    password: fields.secret('password'),
  })
  routes.post(`${FACTORS}/password`, readPasswords, ({ services, call }, passwords) =>
    replaceOwnPassword(services, call, passwords).then(nothing),
  )
  addCodeRoutes(routes)
  addPasskeyRoutes(routes)
}

function addCodeRoutes(routes: PanelRoutes): void {
  routes.post(`${FACTORS}/code/begin`, nothing, async ({ services, call }) => {
    const { secret, uri, sealed } = await beginCode(services, call)
    return { secret: secret.reveal(), uri: uri.reveal(), sealed }
  })
  const readShown = (fields: Fields) => ({ sealed: fields.text('sealed'), code: fields.text('code') })
  routes.post(`${FACTORS}/code`, readShown, ({ services, call }, shown) =>
    setCode(services, call, shown).then(nothing),
  )
  routes.post(`${FACTORS}/code/delete`, nothing, ({ services, call }) =>
    deleteCode(services, call).then(nothing),
  )
}

function addPasskeyRoutes(routes: PanelRoutes): void {
  routes.post(`${FACTORS}/passkeys/challenge`, nothing, async ({ services, call }) => ({
    options: await optionsOfNewPasskey(services, call),
  }))
  const readMade = (fields: Fields) => ({
    name: fields.text('name'),
    response: readNewCredential(fields.value('response')),
  })
  routes.post(`${FACTORS}/passkeys`, readMade, async ({ services, call }, made) =>
    passkeyJson(await addPasskey(services, call, made)),
  )
  const readId = (fields: Fields) => fields.text('id')
  routes.post(`${FACTORS}/passkeys/delete`, readId, ({ services, call }, id) =>
    deletePasskey(services, call, id).then(nothing),
  )
}

const DAY_MS = 24 * 3_600_000

function passkeyJson({ id, name, createdAtMs, lastUsedDay }: FactorsView['passkeys'][number]): object {
  const day = lastUsedDay === undefined ? null : new Date(lastUsedDay * DAY_MS).toISOString().slice(0, 10)
  return { id, name, createdAtMs, lastUsedDay: day }
}
