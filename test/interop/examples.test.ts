/** The pages of examples/, read from top to bottom: what they show is what a reader of the folder gets. */
import { describe } from 'vitest'
import { pageOf } from '../docs/page.ts'
import { readPage } from '../docs/story.ts'
import { run } from '../support/interop/command.ts'
import { installEnvoy } from '../support/interop/envoy.ts'
import { copyEnvoyExample } from '../support/interop/interop-ext-authz.ts'
import { obtained } from '../support/interop/obtain.ts'
import { copyExample, freeAddresses, installProxy, PROXIES, SHOWN } from '../support/interop/proxies.ts'

const curl = await obtained('curl', () => run('curl', ['--version']))

for (const name of PROXIES) {
  const program = await installProxy(name)
  describe.skipIf(!program.ok || !curl.ok)(`examples/${name}/README.md`, () => {
    readPage(pageOf(`examples/${name}/README.md`), {
      prepare: async (terminal) => {
        if (!program.ok) return
        const { path, env } = program.value
        const variables = Object.entries(env).map(([variable, value]) => `${variable}='${value}'`)
        terminal.addTool(name, [...variables, `exec '${path}' "$@"`].join(' '))
        const addresses = await freeAddresses()
        copyExample(name, terminal.folder, addresses)
        terminal.replace(SHOWN.proxy, addresses.proxy)
        const [, port] = addresses.application.split(':')
        await terminal.run(
          `export PORT=${port} PORTCULLIS_HTTP_ADDRESS=${addresses.sidecar} XDG_CONFIG_HOME="$PWD" XDG_DATA_HOME="$PWD"`,
        )
      },
    })
  })
}

const envoy = await obtained('Envoy', installEnvoy)

describe.skipIf(!envoy.ok || !curl.ok)('examples/envoy/README.md', () => {
  readPage(pageOf('examples/envoy/README.md'), {
    prepare: async (terminal) => {
      terminal.addTool(
        'envoy',
        `exec '${envoy.ok && envoy.value}' --concurrency 1 --use-dynamic-base-id "$@"`,
      )
      const { proxy, sidecar, application } = await freeAddresses()
      const { proxy: grpc } = await freeAddresses()
      copyEnvoyExample(terminal.folder, {
        '127.0.0.1:8080': proxy,
        '127.0.0.1:8180': sidecar,
        '127.0.0.1:50051': grpc,
        '127.0.0.1:3000': application,
      })
      terminal.replace(SHOWN.proxy, proxy)
      await terminal.run(
        `export PORT=${application.split(':')[1]} PORTCULLIS_HTTP_ADDRESS=${sidecar} PORTCULLIS_GRPC_ADDRESS=${grpc}`,
      )
    },
  })
})
