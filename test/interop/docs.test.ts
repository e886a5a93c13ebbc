/**
 * The pages whose commands need more than Node, read from top to bottom: other languages, curl, openssl,
 * PostgreSQL, Express.
 */
import { symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { type Block, blocksOf, fileOf, needOf, type Page, userPages } from '../docs/page.ts'
import { isNotRun, readPage } from '../docs/story.ts'
import type { Terminal } from '../docs/terminal.ts'
import { cargoFolder } from '../support/interop/cargo.ts'
import { run } from '../support/interop/command.ts'
import { installFrameworks } from '../support/interop/frameworks.ts'
import { installKeystoneClients, obtained } from '../support/interop/interop-identity.ts'
import { PostgresServer } from '../support/postgres/server.ts'

const python = inject('python')
const grpcurl = inject('grpcurl')
const postgres = inject('postgres')
const openstack = await obtained("Keystone's clients", installKeystoneClients)
const express = await obtained('Express and Hono', installFrameworks)
const maven = await obtained('Maven', () => run('mvn', ['--version']))
const curl = await obtained('curl', () => run('curl', ['--version']))
const rust = await obtained('Rust', () => run('sh', ['-c', 'command -v cargo']))

/** The tools that a block can need, and whether they are there. */
const THERE: Readonly<Record<string, boolean>> = {
  // test/nightly/compose.test.ts runs it, where there are images to go on with.
  compose: false,
  curl: curl.ok,
  // test/nightly/container.test.ts builds and runs the image with buildah and podman.
  docker: false,
  express: express.ok,
  go: inject('go').ok && python.ok,
  grpcurl: grpcurl.ok,
  java: maven.ok,
  // No test has a cluster; test/nightly/kubernetes.test.ts does what can be done without.
  kubernetes: false,
  openssl: inject('openssl').ok,
  openstack: openstack.ok,
  // test/nightly/postgres/failover-patroni.test.ts runs it with the settings of the page.
  patroni: false,
  postgres: postgres.ok,
  // test/interop/prometheus.test.ts runs one.
  prometheus: false,
  python: python.ok,
  rust: rust.ok,
  // test/nightly/systemd.test.ts boots one.
  systemd: false,
  // test/nightly/executable.test.ts builds the executable in the checkout.
  registry: false,
}
const needs = new Set(Object.keys(THERE).filter((need) => THERE[need]))
const path = [
  ...(grpcurl.ok ? [dirname(grpcurl.command[0] ?? '')] : []),
  ...(openstack.ok ? [openstack.value] : []),
  // With psql.
  ...(postgres.ok ? [postgres.folder] : []),
]

const servers: PostgresServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.remove())))

const needy = userPages.filter((page) => blocksOf(page).some((block) => needOf(block) !== undefined))

test('every need of a page is known here', () => {
  const named = needy.flatMap((page) => blocksOf(page).flatMap((block) => needOf(block) ?? []))
  expect([...new Set(named)].sort()).toEqual(Object.keys(THERE).sort())
})

// A page of which nothing can be run here has no test.
const isRead = (block: Block) =>
  (block.language === 'sh' || fileOf(block) !== undefined) &&
  !isNotRun(block) &&
  (THERE[needOf(block) ?? ''] ?? true)
describe.each(needy.filter((page) => blocksOf(page).some(isRead)))('$path', (page) => {
  readPage(page, { needs, path, prepare: (terminal) => prepare(terminal, page) })
})

async function prepare(terminal: Terminal, page: Page): Promise<void> {
  // The one that Python's package brings, so no other must be installed.
  if (python.ok) terminal.addTool('protoc', `exec '${python.command[0]}' -m grpc_tools.protoc "$@"`)
  // Crates that the tests of the Rust client have compiled are not compiled again.
  if (rust.ok)
    terminal.addTool('cargo', `exec env CARGO_TARGET_DIR='${cargoFolder}' '${rust.value.trim()}' "$@"`)
  if (express.ok)
    for (const name of ['express', '@types', 'hono', '@hono'])
      symlinkSync(join(express.value, 'node_modules', name), join(terminal.folder, 'node_modules', name))
  if (postgres.ok && blocksOf(page).some((block) => needOf(block) === 'postgres'))
    await prepareServers(terminal, postgres.folder)
}

/**
 * A primary with a standby, as the page names them. Where an operator stops the primary by ssh, it is killed
 * here.
 */
async function prepareServers(terminal: Terminal, programs: string): Promise<void> {
  const primary = await PostgresServer.start(programs)
  servers.push(primary)
  const standby = await primary.startStandby()
  servers.push(standby)
  const url = await primary.newDatabase()
  terminal.replace(
    'postgres://portcullis:PASSWORD@db-1.example:5432,db-2.example:5432/portcullis?sslmode=verify-full',
    url.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`),
  )
  terminal.replace('postgres://postgres:PASSWORD@db-2.example/postgres', standby.url('postgres'))
  terminal.addTool('ssh', `kill -9 ${primary.pid}`)
}
