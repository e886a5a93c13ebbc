/** Profile → Access in Chromium, as a control panel user uses it, with a sidecar: API keys and IAM tokens. */
import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { READ_TOKEN } from '../../../console/model/shell.ts'
import { run } from '../../support/interop/command.ts'
import { soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import {
  addKey,
  button,
  clipboard,
  dialog,
  expectNoTrace,
  focused,
  HASHES,
  overflows,
  startPanelInChromium,
  textOf,
} from '../../support/interop/profile.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined
const { panel, openFor, decisionOn, keyWorks } = await startPanelInChromium(browser)

const boxOf = async (element: Locator) =>
  (await element.boundingBox()) ?? { x: Number.NaN, y: Number.NaN, width: 0, height: 0 }

describe.skipIf(!browser)('API keys', () => {
  test('with the keyboard alone: Profile → Access → API Keys → Add Key → name → Add, and a checked request', async () => {
    const { page } = await openFor('olga', '#/overview')
    // The focus begins at the heading.
    await soon(() => focused(page)).toBe('Hello, olga')
    await button(page, /^Account menu/).focus()
    await page.keyboard.press('Enter')
    await soon(() => focused(page)).toBe('Overview')
    for (const key of ['ArrowDown', 'Enter']) await page.keyboard.press(key)
    await soon(() => page.url()).toContain(HASHES.keys)
    await button(page, 'Add Key').waitFor()
    await soon(() => textOf(page)).toContain('You have no API key yet.')
    for (let stops = 0; stops < 30 && (await focused(page)) !== 'Add Key'; stops++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByLabel('Key name').waitFor()
    await page.keyboard.type('nightly job')
    await page.keyboard.press('Enter')
    const shown = page.getByLabel('API key (static token)')
    const key = await shown.inputValue()
    const copyCheck = dialog(page)
      .locator('.command', { hasText: 'portcullis check' })
      .getByRole('button', { name: 'Copy' })
    for (let stops = 0; stops < 10 && !(await copyCheck.and(page.locator(':focus')).count()); stops++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await soon(() => clipboard(page)).toContain('portcullis check')
    const command = await clipboard(page)
    // The key is in no command: its user pastes it where the first one reads it.
    expect(await dialog(page).locator('.command').allTextContents()).not.toContainEqual(
      expect.stringContaining(key),
    )
    const environment = { PORTCULLIS_GRPC_ADDRESS: panel.running.address, PASTED: key }
    const script = `${READ_TOKEN} <<< "$PASTED"\n${command}`
    expect(await run('bash', ['-c', script], { env: environment })).toMatch(/^allowed/i)
    for (let stops = 0; stops < 10 && (await focused(page)) !== 'I have saved it'; stops++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await soon(() => focused(page)).toBe('Add Key')
    await soon(() => textOf(page)).toMatch(/nightly job.*Last use not recorded yet/s)
    await expectNoTrace(page, key)
  })

  test('a key that is shown stays until its owner has saved it, and the next one is shown, too', async () => {
    const { page } = await openFor('olga', '#/overview')
    await page.getByRole('link', { name: 'API Keys' }).click()
    const add = async (name: string) => {
      await button(page, 'Add Key').click()
      await page.getByLabel('Key name').fill(name)
      await button(page, 'Add').click()
      return page.getByLabel('API key (static token)').inputValue()
    }
    const shown = () => page.getByLabel('API key (static token)').isVisible()
    await add('kept')
    for (let presses = 0; presses < 6; presses++) await page.keyboard.press('Escape')
    expect(await shown()).toBe(true)
    // As a phone does it, which asks no server.
    await page.evaluate('document.querySelector("dialog").close()')
    await soon(shown).toBe(true)
    await page.goBack()
    await soon(() => page.url()).toContain(HASHES.keys)
    await page.evaluate('location.hash = "#/overview"')
    await soon(() => page.url()).toContain(HASHES.keys)
    expect(await shown()).toBe(true)
    const asked = page.waitForEvent('dialog')
    void page.reload().catch(() => {})
    expect((await asked).type()).toBe('beforeunload')
    await (await asked).dismiss()
    expect(await shown()).toBe(true)
    await button(page, 'I have saved it').click()
    await soon(() => page.getByRole('dialog').count()).toBe(0)
    expect(await add('kept, too')).not.toBe('')
    expect(await shown()).toBe(true)
    await button(page, 'I have saved it').click()
    await page.getByRole('link', { name: 'Security' }).click()
    await soon(() => page.url()).toContain(HASHES.security)
  })

  test('while a key is made, nothing closes the dialog that will show it', async () => {
    const { page } = await openFor('olga', HASHES.keys)
    let goOn = () => {}
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    await page.route('**/CreateStaticToken', async (route) => {
      await held
      await route.continue()
    })
    await button(page, 'Add Key').click()
    await page.getByLabel('Key name').fill('slow')
    await button(page, 'Add').click()
    await button(page, 'Working…').waitFor()
    for (const name of ['Cancel', 'Close']) expect(await button(page, name).isDisabled()).toBe(true)
    for (let presses = 0; presses < 4; presses++) await page.keyboard.press('Escape')
    expect(await page.getByLabel('Key name').isVisible()).toBe(true)
    goOn()
    expect(await page.getByLabel('API key (static token)').inputValue()).not.toBe('')
  })

  test('a browser without a clipboard copies a selection; where that fails, the button says so', async () => {
    const { page } = await openFor('olga', HASHES.keys)
    await button(page, 'Add Key').click()
    await page.getByLabel('Key name').fill('by selection')
    await button(page, 'Add').click()
    const key = await page.getByLabel('API key (static token)').inputValue()
    await page.evaluate('navigator.clipboard.writeText("before")')
    await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("no"))')
    const copy = dialog(page).locator('.secret-row button').first()
    await copy.click()
    await soon(() => copy.textContent()).toBe('Copied')
    expect(await clipboard(page)).toBe(key)
    await soon(() => focused(page)).toBe('Copied')
    await page.evaluate('document.execCommand = () => false')
    await copy.click()
    await soon(() => copy.textContent()).toBe('Not copied: select and copy it')
  })

  test.each<[how: string, leave: (page: Page) => Promise<unknown>]>([
    ['for another site', (page) => page.goto('about:blank')],
    ['by closing it', (page) => page.close()],
    ['for another page of it', (page) => page.getByRole('link', { name: 'Security' }).click()],
    [
      'by logging out',
      async (page) => {
        await button(page, /^Account menu/).click()
        await button(page, 'Log out').click()
      },
    ],
  ])('a user who leaves the page within the ten seconds (%s) has revoked the key', async (how, leave) => {
    const { page } = await openFor('olga', HASHES.keys)
    const key = await addKey(page, `left ${how}`)
    // The ten seconds never end.
    await page.evaluate(
      'const later = setTimeout; window.setTimeout = (work, ms) => (ms === 10_000 ? 0 : later(work, ms))',
    )
    await button(page, `Revoke: left ${how}`).click()
    expect(await keyWorks(key)).toBe(true)
    await leave(page)
    await soon(() => keyWorks(key)).toBe(false)
  })
})

describe.skipIf(!browser)('IAM tokens', () => {
  test('a token is reissued and copied; the previous one is revoked; the page warns, and shows it masked', async () => {
    const { page } = await openFor('pia', HASHES.tokens)
    await soon(() => textOf(page)).toContain(
      'Such tokens are recommended for testing only. Working tools use a service user.',
    )
    // On a first visit there is nothing to copy, and nothing that reissuing would end.
    await button(page, 'Create token').waitFor()
    for (const name of ['Copy token', 'Reissue token']) expect(await button(page, name).count()).toBe(0)
    await button(page, 'Create token').click()
    await soon(() => textOf(page)).toContain('The token is created.')
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.reload()
    await soon(() => textOf(page)).toMatch(/You have a token\. It works until/)
    const reissue = async () => {
      await button(page, 'Reissue token').click()
      await soon(() => dialog(page).textContent()).toMatch(/the previous one is revoked/)
      await button(page, 'Reissue').click()
      await soon(() => page.getByRole('dialog').count()).toBe(0)
      await button(page, 'Copy token').click()
      await soon(() => textOf(page)).toContain('The token is copied.')
      return clipboard(page)
    }
    const first = await reissue()
    const works = async (token: string) => (await decisionOn('X-Auth-Token', token, 'iam')) === 'ALLOWED'
    expect(await works(first)).toBe(true)
    expect(await page.getByLabel('Token', { exact: true }).inputValue()).toBe(
      `••••••••••••${first.slice(-4)}`,
    )
    expect(await page.content()).not.toContain(first)
    const second = await reissue()
    await soon(() => works(first)).toBe(false)
    expect(await works(second)).toBe(true)
    await expectNoTrace(page, second)
  })

  test.each([320, 360, 768, 1280])(
    'at %i pixels, also with large letters, the end of a token and its button are on one line, and buttons align',
    async (width) => {
      const { page } = await openFor('adam', HASHES.tokens, { viewport: { width, height: 800 } })
      await page.getByRole('button', { name: /^(Create|Copy) token$/ }).click()
      await page.getByLabel('Token', { exact: true }).waitFor()
      for (const size of ['14px', '21px']) {
        await page.evaluate(`document.documentElement.style.fontSize = '${size}'`)
        const field = await boxOf(page.getByLabel('Token', { exact: true }))
        const copy = await boxOf(page.locator('.own-token .secret-row button'))
        const [first, second] = [
          await boxOf(button(page, 'Copy token')),
          await boxOf(button(page, 'Reissue token')),
        ]
        expect([size, copy.x >= field.x + field.width, copy.y < field.y + field.height]).toEqual([
          ...[size, true, true],
        ])
        expect(first.x).toBe(field.x)
        expect(second.y === first.y || second.x === first.x).toBe(true)
        expect(await overflows(page)).toBe(false)
      }
    },
  )
})
