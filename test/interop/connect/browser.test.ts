/**
 * A page in Chromium asks the sidecar, with generated clients over Connect-Web and gRPC-Web, if its origin is
 * listed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Browser,
  bundlePage,
  driverOf,
  installBrowser,
  servePage,
} from '../../support/interop/browser.ts'
import { run } from '../../support/interop/command.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { runSidecar } from '../../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../../support/suite/resources.ts'

const FORMS = ['Connect JSON', 'Connect proto', 'gRPC-Web proto']

const installed = await obtained('Chromium and its driver', installBrowser)
const browser = installed.ok ? installed.value : undefined

test.skipIf(!browser)(
  'a page of a listed origin gets answers, errors and a stream; others get nothing',
  async () => {
    const { chromium } = browser as Browser
    const script = await bundlePage(browser as Browser)
    const [listed, other] = [await servePage(script), await servePage(script)]
    const config = newFile(JSON.stringify({ http: { cors: { origins: [listed] } } }), 'portcullis.json')
    const listening = { 'http.address': '127.0.0.1:0', 'http.connect': true }
    const open = await runSidecar({ config, flags: listening })
    const socket = `unix:${join(newFolder(), 'grpc.sock')}`
    const guarded = await runSidecar({ config, flags: { ...listening, 'grpc.address': socket } })
    const token = readFileSync(join(guarded.folder, 'administrator-token'), 'utf8').trim()
    const [url, guardedUrl] = [open, guarded].map(({ sidecar }) => `http://${sidecar.httpAddress}`)

    const ask = async (origin: string, questions: readonly (readonly (string | undefined)[])[]) =>
      JSON.parse(
        await run(process.execPath, [
          driverOf(browser as Browser),
          chromium,
          origin,
          JSON.stringify(questions),
        ]),
      ) as unknown[]
    const answered = {
      allowed: true,
      refused: ['InvalidArgument', expect.stringContaining('api: expected the id of an API')],
      apis: 30,
    }
    const questions = FORMS.flatMap((form) => [
      [url, form],
      [guardedUrl, form, token],
    ])
    expect(await ask(listed, questions)).toEqual(questions.map(() => answered))
    expect(await ask(listed, [[guardedUrl, 'Connect JSON']])).toEqual([
      expect.stringContaining('needs a caller token'),
    ])
    // The browser shows a page nothing of an answer that is not for it.
    expect(
      await ask(
        other,
        FORMS.map((form) => [url, form]),
      ),
    ).toEqual(FORMS.map(() => 'refused: Failed to fetch'))
  },
)
