/** The pages whose commands need more than Node, read from top to bottom: other languages, curl, openssl, PostgreSQL, Express. */
import { symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { blocksOf, needOf, userPages } from '../docs/page.ts'
import { readPage } from '../docs/story.ts'
import type { Terminal } from '../docs/terminal.ts'
import { run } from '../support/interop/command.ts'
import { installFrameworks } from '../support/interop/frameworks.ts'
import { installKeystoneClients, obtained } from '../support/interop/identity.ts'
import { PostgresServer } from '../support/postgres/server.ts'

const python = inject('python')
const grpcurl = inject('grpcurl')
const postgres = inject('postgres')
const openstack = await obtained("Keystone's clients", installKeystoneClients)
const express = await obtained('Express and Hono', installFrameworks)
const curl = await obtained('curl', () => run('curl', ['--version']))

/** What a block can need, and whether it is there. */
const THERE: Readonly<Record<string, boolean>> = {
  curl: curl.ok,
  express: express.ok,
  go: inject('go').ok && python.ok,
  grpcurl: grpcurl.ok,
  // No test has a cluster.
  kubernetes: false,
  openssl: inject('openssl').ok,
  openstack: openstack.ok,
  postgres: postgres.ok,
  // test/interop/prometheus.test.ts runs one.
  prometheus: false,
  python: python.ok,
}
const needs = new Set(Object.keys(THERE).filter((need) => THERE[need]))
const path = [
  ...(grpcurl.ok ? [dirname(grpcurl.command[0] ?? '')] : []),
  ...(openstack.ok ? [openstack.value] : []),
]

const servers: PostgresServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.remove())))

const needy = userPages.filter((page) => blocksOf(page).some((block) => needOf(block) !== undefined))

test('every need of a page is known here', () => {
  const named = needy.flatMap((page) => blocksOf(page).flatMap((block) => needOf(block) ?? []))
  expect([...new Set(named)].sort()).toEqual(Object.keys(THERE).sort())
})

describe.each(needy)('$path', (page) => {
  readPage(page, { needs, path, prepare })
})

async function prepare(terminal: Terminal): Promise<void> {
  // The one that Python's package brings: nobody has to install another.
  if (python.ok) terminal.addTool('protoc', `exec '${python.command[0]}' -m grpc_tools.protoc "$@"`)
  if (express.ok)
    for (const name of ['express', '@types', 'hono', '@hono'])
      symlinkSync(join(express.value, 'node_modules', name), join(terminal.folder, 'node_modules', name))
  if (!postgres.ok) return
  const server = await PostgresServer.start(postgres.folder)
  servers.push(server)
  const shown = 'postgres://portcullis:PASSWORD@db.example:5432/portcullis?sslmode=verify-full'
  terminal.replace(shown, await server.newDatabase())
}
