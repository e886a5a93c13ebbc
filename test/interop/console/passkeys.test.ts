/**
 * Passkeys as Chromium makes and uses them, with an authenticator of its own in place of a fingerprint
 * reader.
 */
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { PASSWORD, SESSION, startPanel } from '../../support/console/control-panel.ts'
import { LAPTOP, openPage, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const panel = await startPanel()
const FACTORS = '/console/factors'

/** A page at a name of this server, whose browser has an authenticator. */
async function open(host: string, verifiesUser = true): Promise<Page> {
  const { page } = await openPage(browser as Browser, `http://${host}:${panel.port}/console/`, LAPTOP)
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', automaticPresenceSimulation: true },
      ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: verifiesUser },
    },
  })
  return page
}

interface Answer {
  readonly status: number
  readonly json: Record<string, unknown>
}

/** Sends what our page sends. */
function post(page: Page, path: string, body: object): Promise<Answer> {
  return page.evaluate(
    async ([url, sent]) => {
      const headers = { 'content-type': 'application/json', 'x-portcullis-console': '1' }
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(sent) })
      const text = await answer.text()
      return { status: answer.status, json: text === '' ? {} : JSON.parse(text) }
    },
    [path, body] as const,
  )
}

/** The result of the browser for these options, as JSON, or the name of its error. */
function credential(page: Page, verb: 'create' | 'get', options: unknown): Promise<unknown> {
  return page.evaluate(
    async ([what, given]) => {
      // The types of the page's own world are not known here.
      const { PublicKeyCredential, navigator } = globalThis as never as {
        PublicKeyCredential: Record<string, (options: unknown) => unknown>
        navigator: { credentials: Record<string, (options: object) => Promise<{ toJSON(): unknown }>> }
      }
      const parse = what === 'create' ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON'
      try {
        const publicKey = PublicKeyCredential[parse]?.(given)
        return (await navigator.credentials[what]?.({ publicKey }))?.toJSON()
      } catch (error) {
        return (error as Error).name
      }
    },
    [verb, options] as const,
  )
}

async function accept(page: Page): Promise<void> {
  const secret = await panel.invite('pia')
  expect((await post(page, `${SESSION}/invitation/accept`, { secret, password: PASSWORD })).status).toBe(200)
}

const optionsAt = async (page: Page, path: string) => (await post(page, path, {})).json.options

describe.skipIf(!browser)('at localhost', () => {
  test('a passkey is made, confirms the session, logs in without a name, and each answer counts once', async () => {
    const page = await open('localhost')
    await accept(page)
    const made = await credential(page, 'create', await optionsAt(page, `${FACTORS}/passkeys/challenge`))
    const added = await post(page, `${FACTORS}/passkeys`, { name: 'Chromium', response: made })
    expect(added).toMatchObject({ status: 200, json: { name: 'Chromium', lastUsedDay: null } })
    const challenge = `${SESSION}/passkey/challenge`
    const passkey = await credential(page, 'get', await optionsAt(page, challenge))
    expect((await post(page, `${SESSION}/confirm`, { passkey })).status).toBe(200)
    await post(page, `${SESSION}/end`, {})
    const response = await credential(page, 'get', await optionsAt(page, challenge))
    const login = () => post(page, `${SESSION}/passkey`, { response })
    expect(await login()).toMatchObject({ status: 200, json: { signedIn: true, who: { name: 'pia' } } })
    expect(await login()).toMatchObject({ status: 401, json: { reason: 'PASSKEY_REFUSED' } })
    await page.context().close()
  })

  test('an authenticator that does not verify its user makes none', async () => {
    const page = await open('localhost', false)
    await accept(page)
    const options = await optionsAt(page, `${FACTORS}/passkeys/challenge`)
    expect(await credential(page, 'create', options)).toBe('NotAllowedError')
    await page.context().close()
  })
})

test.skipIf(!browser)('at an IP address the browser would make none, and the sidecar says so', async () => {
  const page = await open('127.0.0.1')
  await accept(page)
  expect((await post(page, `${FACTORS}/passkeys/challenge`, {})).json).toMatchObject({
    reason: 'PASSKEYS_NOT_POSSIBLE',
    message: expect.stringContaining(`http://localhost:${panel.port}`),
  })
  await page.context().close()
})
