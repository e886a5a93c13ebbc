/** Chromium, which runs pages, and a plain page to compare with. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { CommandFailed, run } from '../harness/command.ts'

/** @returns the command @throws CommandFailed if it is missing */
export async function requireChromium(): Promise<string> {
  const command = 'chromium'
  await run(command, ['--version']).catch((error: unknown) => {
    throw new CommandFailed(`\`${command}\` is not on PATH (Debian: chromium)`, { cause: error })
  })
  return (await run('which', [command])).trim()
}

/** Starts it. It is stopped when the stack is disposed. */
export async function startChromium(executablePath: string, stack: AsyncDisposableStack): Promise<Browser> {
  // Loaded here, so that the other suites do not need it.
  const { chromium } = await import('playwright-core')
  // Root has no sandbox in a container.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  stack.defer(() => browser.close())
  return browser
}

/**
 * A table of one row, a field that says what is typed, and a button that changes a word: the least time of a
 * browser for each.
 */
const PLAIN = `<!doctype html>
<title>plain</title>
<style>body { font: 14px sans-serif }</style>
<table><tbody><tr><td>A row</td></tr></tbody></table>
<input type="search">
<button>Change</button>
<p>A word</p>
<script>
const word = document.querySelector('p')
document.querySelector('input').oninput = (event) => { word.textContent = event.target.value }
let count = 0
document.querySelector('button').onclick = () => { word.textContent = 'Word ' + ++count }
</script>
`

/** Serves the plain page until the stack is disposed. @returns its URL */
export async function servePlainPage(stack: AsyncDisposableStack): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(PLAIN)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
