/** Profile → Access in Chromium, as a control panel user uses it, with a sidecar: API keys and IAM tokens. */
import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { READ_TOKEN } from '../../../console/model/shell.ts'
import { PASSWORD } from '../../support/console/control-panel.ts'
import { run } from '../../support/interop/command.ts'
import { PHONE, soon, startChromium } from '../../support/interop/explorer.ts'
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
const { panel, clock, url, openFor, decisionOn, keyWorks } = await startPanelInChromium(browser)

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
    // The key is in no command: somebody pastes it where the first one reads it.
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

  test('a key is found in the list by its end, its age and its note; its field shows the beginning', async () => {
    const { page } = await openFor('olga', HASHES.keys, PHONE)
    await button(page, 'Add Key').click()
    await page.getByLabel('Key name').fill('reports')
    await page.getByLabel(/^Note/).fill('x\u200b')
    await button(page, 'Add').click()
    await soon(() => dialog(page).textContent()).toContain('without control characters')
    await page.getByLabel(/^Note/).fill('  the monthly report  ')
    await button(page, 'Add').click()
    const field = page.getByLabel('API key (static token)')
    const key = await field.inputValue()
    const isAtBeginning = () =>
      field.evaluate(
        (input) => input.scrollLeft === 0 && input.scrollWidth > input.clientWidth && input.matches(':focus'),
      )
    await soon(isAtBeginning).toBe(true)
    for (const key of ['Tab', 'Shift+Tab']) await page.keyboard.press(key)
    await soon(isAtBeginning).toBe(true)
    expect(await page.evaluate<string>('getSelection().toString()')).toBe(key)
    await button(page, 'I have saved it').click()
    const item = page.getByRole('listitem').filter({ hasText: 'reports' })
    const seen = new RegExp(`the monthly report.*Ends with ${key.slice(-4)}.*Created .*\\(just now\\)`, 's')
    await soon(() => item.textContent()).toMatch(seen)
    clock.aheadMs += 98 * 86_400_000
    await page.reload()
    // The session ended meanwhile.
    await page.goto(url(HASHES.keys))
    const later = (await openFor('olga', HASHES.keys)).page
    await soon(() => later.getByRole('listitem').filter({ hasText: 'reports' }).textContent()).toMatch(
      /\(3 months ago\)/,
    )
    clock.aheadMs -= 98 * 86_400_000
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

  test('keys that lead elsewhere in the explorer leave what was typed', async () => {
    const { page } = await openFor('olga', HASHES.keys)
    await button(page, 'Add Key').waitFor()
    for (const key of ['1', '4', '/']) await page.keyboard.press(key)
    expect(page.url()).toContain(HASHES.keys)
    await page.keyboard.press('?')
    await soon(() => dialog(page).textContent()).toContain('Settings')
  })

  test('a revocation can be undone for ten seconds, and is sent then', async () => {
    const { page } = await openFor('olga', HASHES.keys)
    const key = await addKey(page, 'undone')
    await page.clock.install()
    await button(page, 'Revoke: undone').click()
    await soon(() => focused(page)).toBe('Undo: undone')
    await soon(() => textOf(page)).toMatch(
      /undone.*Still works.*It is revoked in \d+ seconds?, and works until/s,
    )
    await soon(() => page.getByRole('status').first().textContent()).toMatch(/is revoked in ten seconds/)
    await page.clock.runFor(9_000)
    expect(await keyWorks(key)).toBe(true)
    await page.keyboard.press('Enter')
    await soon(() => focused(page)).toBe('Revoke: undone')
    await page.clock.runFor(20_000)
    expect(await keyWorks(key)).toBe(true)
    await page.keyboard.press('Enter')
    await page.clock.runFor(10_100)
    await soon(() => keyWorks(key)).toBe(false)
    await soon(() => textOf(page)).toMatch(/undoneRevoked/)
  })

  test('`Revoke now` revokes now', async () => {
    const { page } = await openFor('olga', HASHES.keys)
    const key = await addKey(page, 'at once')
    await button(page, 'Revoke: at once').click()
    await button(page, 'Revoke now: at once').click()
    await soon(() => keyWorks(key)).toBe(false)
    await page.reload()
    await soon(() => textOf(page)).not.toContain('at once')
    await page.getByLabel('Show revoked keys').check()
    await soon(() => textOf(page)).toMatch(/at onceRevoked/)
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

  test('a revocation that is not answered says so, and is offered again', async () => {
    const { page } = await openFor('olga', HASHES.keys)
    const key = await addKey(page, 'unlucky')
    await page.route('**/RevokeStaticToken', (route) => route.abort())
    await button(page, 'Revoke: unlucky').click()
    await button(page, 'Revoke now: unlucky').click()
    await soon(() => textOf(page)).toMatch(
      /unluckyNot revoked.*It could not be revoked, so it may still work\./s,
    )
    await soon(() => focused(page)).toBe('Revoke again: unlucky')
    expect(await keyWorks(key)).toBe(true)
    await page.unroute('**/RevokeStaticToken')
    await page.keyboard.press('Enter')
    await soon(() => keyWorks(key)).toBe(false)
    await soon(() => textOf(page)).toMatch(/unluckyRevoked/)
  })

  test('a name with markup is a name; one that is taken says so, and what was typed stays', async () => {
    const { page, complaints } = await openFor('olga', HASHES.keys)
    const name = `<img src=x onerror="document.title='no'"> ${'long '.repeat(40)}`.trim()
    await addKey(page, name)
    await soon(() => textOf(page)).toContain(name)
    await button(page, 'Add Key').click()
    await page.getByLabel('Key name').fill(name)
    await button(page, 'Add').click()
    await soon(() => dialog(page).textContent()).toContain('You have an active key with this name.')
    expect(await page.getByLabel('Key name').inputValue()).toBe(name)
    await soon(() => focused(page)).toBe('')
    await page.keyboard.press('Escape')
    await soon(() => focused(page)).toBe('Add Key')
    expect(await overflows(page)).toBe(false)
    expect(await page.locator('#app img').count()).toBe(0)
    expect([await page.title(), complaints]).toEqual(['API Keys · Portcullis', []])
  })

  test('a list that does not arrive says so, and is asked for again', async () => {
    const { page } = await openFor('olga', '#/overview')
    await page.route('**/ListStaticTokens', (route) => route.fulfill({ status: 500, json: {} }))
    await page.goto(url(HASHES.keys))
    await soon(() => page.getByRole('alert').first().textContent()).toContain('This cannot be loaded.')
    await page.unroute('**/ListStaticTokens')
    await button(page, 'Try again').click()
    await soon(() => page.getByRole('alert').count()).toBe(0)
  })

  test('who logged in long ago confirms that it is them, and the key is added then', async () => {
    const { page } = await openFor('pia', HASHES.keys)
    clock.aheadMs += 11 * 60_000
    await button(page, 'Add Key').click()
    await page.getByLabel('Key name').fill('confirmed')
    await button(page, 'Add').click()
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(page, 'Confirm').click()
    expect(await keyWorks(await page.getByLabel('API key (static token)').inputValue())).toBe(true)
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

  test('one that was created elsewhere meanwhile is not replaced; one that ended meanwhile is not copied', async () => {
    const { page } = await openFor('adam', HASHES.tokens)
    const elsewhere = await page.context().newPage()
    await elsewhere.goto(url(HASHES.tokens))
    for (const each of [page, elsewhere]) await button(each, 'Create token').waitFor()
    await button(elsewhere, 'Create token').click()
    await button(elsewhere, 'Copy token').click()
    await soon(() => textOf(elsewhere)).toContain('The token is copied.')
    const token = await clipboard(elsewhere)
    await button(page, 'Create token').click()
    await soon(() => textOf(page)).toContain('You have a token already.')
    expect(await decisionOn('X-Auth-Token', token, 'iam')).toBe('ALLOWED')
    await panel.running.client.revoke({ value: token })
    await button(page, 'Copy token').click()
    await soon(() => textOf(page)).toMatch(/is no longer active/)
    await button(page, 'Create token').waitFor()
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

  test('one for a project: chosen by users who see the projects, and typed by others', async () => {
    const owner = (await openFor('olga', HASHES.tokens)).page
    await owner.getByRole('radio', { name: 'A project' }).check()
    await button(owner, 'Create token').click()
    await soon(() => textOf(owner)).toContain('expected the name of a project')
    await owner.getByLabel('Project', { exact: true }).selectOption('alpha')
    await button(owner, 'Create token').click()
    await soon(() => textOf(owner)).toContain('IAM token for project alpha')
    await owner.getByRole('radio', { name: 'The account' }).check()
    await soon(() => textOf(owner)).not.toContain('IAM token for project alpha')

    const other = (await openFor('pia', HASHES.tokens)).page
    await other.getByRole('radio', { name: 'A project' }).check()
    await other.getByLabel('Project', { exact: true }).fill('elsewhere')
    await button(other, 'Create token').click()
    await soon(() => textOf(other)).toMatch(/no project elsewhere|project elsewhere/i)
  })
})
