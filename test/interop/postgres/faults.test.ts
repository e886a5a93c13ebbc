/**
 * Failures of PostgreSQL and of the connection to it, and the errors of the directory, which contain no
 * secret.
 */
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { CallError } from '../../../sidecar/base/call-error.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { openPostgres, type PostgresDatabase } from '../../../sidecar/directory/postgres.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { PostgresProxy } from '../../support/postgres/proxy.ts'
import { CANARY, PostgresServer } from '../../support/postgres/server.ts'
import { eventuallyHolds } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const TIMEOUT_MS = 1_000
/** Longer than the other, as it is by default. */
const CHANGE_TIMEOUT_MS = 2_000

describe.skipIf(!programs.ok)('PostgreSQL', () => {
  let server: PostgresServer
  let proxy: PostgresProxy
  beforeAll(async () => {
    if (!programs.ok) return
    server = await PostgresServer.start(programs.folder)
    proxy = await PostgresProxy.start(server.port)
  })
  afterAll(async () => {
    await proxy?.close()
    await server?.remove()
  })

  const open = (url: string, poolSize = 3) =>
    openPostgres({
      url: new Secret(url),
      poolSize,
      timeoutMs: TIMEOUT_MS,
      changeTimeoutMs: CHANGE_TIMEOUT_MS,
    })

  /** Runs with a new directory, and closes it afterwards. */
  async function withDirectory(
    work: (store: DirectoryStore, database: PostgresDatabase, name: string) => Promise<void>,
    { port, poolSize }: { port?: number; poolSize?: number } = {},
  ): Promise<void> {
    const name = new URL(await server.newDatabase()).pathname.slice(1)
    const database = await open(server.url(name, port === undefined ? {} : { port }), poolSize)
    try {
      await work(new DirectoryStore(database, Date.now), database, name)
    } finally {
      await database.close()
    }
  }

  describe('cannot be opened', () => {
    const refused = (reason: string) =>
      `directory.url: expected a directory that can be opened (PostgreSQL: ${reason})`

    test.each<[fault: string, url: () => string | Promise<string>, message: string]>([
      [
        'a wrong password',
        () => server.url('postgres', { password: `${CANARY}-wrong` }),
        refused('28P01: the password is not accepted, or the client certificate is for another user'),
      ],
      ['an unknown database', () => server.url('nowhere'), refused('3D000: there is no such database')],
      [
        'an address where nothing listens',
        () => server.url('postgres', { port: 1 }),
        refused('ECONNREFUSED: nothing listens on that address'),
      ],
      [
        'an unknown host name',
        () => `postgres://owner:${CANARY}@name.invalid/directory?sslmode=verify-full`,
        refused('ENOTFOUND: there is no such host'),
      ],
      [
        'an invalid URL',
        () => `postgres://owner:${CANARY}@[/directory`,
        refused('ERR_INVALID_URL: it is not a URL'),
      ],
      [
        'a missing certificate file',
        () => `${server.url('postgres')}?sslrootcert=/nowhere`,
        refused('ENOENT'),
      ],
      [
        'TLS that the server does not support',
        () => `${server.url('postgres')}?sslmode=verify-full`,
        refused('The server does not support SSL connections'),
      ],
      [
        'another encoding than UTF-8',
        async () => {
          await server.query(
            'postgres',
            "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'",
          )
          return server.url('latin')
        },
        'directory.url: expected a database whose encoding is UTF8, found LATIN1',
      ],
      [
        'a login that may not create the tables',
        async () => {
          await server.query('postgres', `CREATE ROLE reader LOGIN PASSWORD '${CANARY}'`)
          const name = new URL(await server.newDatabase()).pathname.slice(1)
          await server.query(name, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC')
          return server.url(name, { user: 'reader', password: CANARY })
        },
        refused('42501: a permission is missing'),
      ],
      [
        'too many connections',
        async () => {
          const name = new URL(await server.newDatabase()).pathname.slice(1)
          await server.query('postgres', `CREATE ROLE late LOGIN PASSWORD '${CANARY}' CONNECTION LIMIT 0`)
          return server.url(name, { user: 'late', password: CANARY })
        },
        refused('53300: too many connections'),
      ],
    ])('%s', async (_fault, url, message) => {
      const error = await open(await url()).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(Error)
      expect((error as Error).message).toBe(message)
      expectNoSecret(error)
    })

    test('a server that stops responding, within the timeout', async () => {
      proxy.goSilent(true)
      const error = await open(server.url('postgres', { port: proxy.port })).catch(
        (caught: unknown) => caught,
      )
      proxy.goSilent(false)
      expect((error as Error).message).toMatch(/^directory\.url: expected a directory that can be opened/)
      expectNoSecret(error)
    })
  })

  test('a login that may only read and write can use an existing directory', async () => {
    await withDirectory(async (_store, _database, name) => {
      await server.query(
        name,
        `CREATE ROLE writer LOGIN PASSWORD '${CANARY}';
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO writer;
         REVOKE CREATE ON SCHEMA public FROM PUBLIC`,
      )
      const database = await open(server.url(name, { user: 'writer', password: CANARY }))
      const store = new DirectoryStore(database, Date.now)
      await store.change('a test', (change) => change.createAccount('123456'))
      expect(await store.records.account('123456')).toBeDefined()
      await database.close()
    })
  })

  /** Errors of the server during a change, and the errors that the caller gets. */
  test.each([
    [
      'the disk is full',
      "RAISE EXCEPTION 'x' USING ERRCODE = '53100'",
      'RESOURCE_EXHAUSTED',
      'DIRECTORY_FULL',
    ],
    [
      'there is no memory',
      "RAISE EXCEPTION 'x' USING ERRCODE = '53200'",
      'RESOURCE_EXHAUSTED',
      'DIRECTORY_EXHAUSTED',
    ],
    [
      'it is shut down',
      "RAISE EXCEPTION 'x' USING ERRCODE = '57P01'",
      'UNAVAILABLE',
      'DIRECTORY_UNAVAILABLE',
    ],
    [
      'the process of the connection dies',
      'PERFORM pg_terminate_backend(pg_backend_pid())',
      'UNAVAILABLE',
      'DIRECTORY_UNAVAILABLE',
    ],
    [
      'a deadlock is found',
      "RAISE EXCEPTION 'x' USING ERRCODE = '40P01'",
      'UNAVAILABLE',
      'DIRECTORY_UNAVAILABLE',
    ],
    [
      'a row breaks a rule',
      "RAISE EXCEPTION 'x' USING ERRCODE = '23514', DETAIL = 'Failing row contains ' || NEW::text",
      'UNAVAILABLE',
      'DIRECTORY_UNAVAILABLE',
    ],
  ])(
    '%s: nothing is changed, the caller gets %j, and the next change succeeds',
    async (_fault, plpgsql, code, reason) => {
      await withDirectory(async (store, _database, name) => {
        await store.change('a test', (change) => change.createAccount('before'))
        await server.query(
          name,
          `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${plpgsql}; RETURN NEW; END $$;
         CREATE TRIGGER fail BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION fail()`,
        )
        const error = await store
          .change('a test', async (change) => {
            await change.createAccount('half')
            const account = await change.records.account('before')
            if (account !== undefined)
              await change.createUser(account, {
                name: 'x',
                type: 'service_user',
                passwordHash: `$argon2id$${CANARY}`,
              })
          })
          .catch((caught: unknown) => caught)
        expect(error).toBeInstanceOf(CallError)
        expect(error).toMatchObject({ code, reason })
        expectNoSecret(error)
        expect(await store.records.account('half')).toBeUndefined()
        await store.change('a test', (change) => change.createAccount('after'))
        expect(await store.records.account('after')).toBeDefined()
      })
    },
  )

  test('the error for a name that is taken quotes nothing', async () => {
    await withDirectory(async (store) => {
      const twice = () => store.change('a test', (change) => change.createAccount(CANARY))
      await twice()
      const error = await twice().catch((caught: unknown) => caught)
      expect(error).toMatchObject({ name: 'AlreadyExists' })
      expectNoSecret(error)
    })
  })

  test('a text that PostgreSQL cannot store is an invalid argument, not an outage', async () => {
    await withDirectory(async (store) => {
      const error = await Promise.resolve(store.verification.serviceUser('123456', `${CANARY}\0`)).catch(
        (caught: unknown) => caught,
      )
      expect(error).toMatchObject({ name: 'CallError', code: 'INVALID_ARGUMENT' })
      expectNoSecret(error)
    })
  })

  test('a query that waits too long fails, and the next one succeeds', async () => {
    await withDirectory(async (store, _database, name) => {
      const locking = server.query(name, 'BEGIN; LOCK TABLE accounts; SELECT pg_sleep(4); COMMIT')
      await new Promise((resolve) => setTimeout(resolve, 500))
      const error = await store.records.account('123456').catch((caught: unknown) => caught)
      expect(error).toMatchObject({
        code: 'UNAVAILABLE',
        cause: { message: 'PostgreSQL: 57014: the answer took too long' },
      })
      await locking
      expect(await store.records.account('123456')).toBeUndefined()
    })
  })

  test('a query does not wait longer than the timeout for a server that stops responding, and closing ends', async () => {
    await withDirectory(
      async (store, database) => {
        await database.follow()
        await store.change('a test', (change) => change.createAccount('before'))
        proxy.goSilent(true)
        try {
          const asked = performance.now()
          const answers = await Promise.allSettled(
            Array.from({ length: 20 }, (_, index) => store.records.account(String(index))),
          )
          for (const answer of answers) expect(answer).toMatchObject({ reason: { code: 'UNAVAILABLE' } })
          // Connecting and querying each end within their timeouts, which are far shorter than those of the
          // network.
          expect(performance.now() - asked).toBeLessThan(10 * TIMEOUT_MS)
          await database.close()
        } finally {
          proxy.goSilent(false)
        }
      },
      { port: proxy.port },
    )
  })

  test('connections that a firewall has forgotten cost one query its timeout, and not one each', async () => {
    await withDirectory(
      async (store, database) => {
        await Promise.all(Array.from({ length: 5 }, () => database.all('SELECT pg_sleep(0.3)')))
        // They stay open here, and nothing of them comes through; new ones do.
        proxy.moveTo(server.port)
        const failed: unknown[] = []
        for (let query = 0; query < 5; query++)
          await store.records.account('123456').catch((error: unknown) => failed.push(error))
        expect(failed).toMatchObject([{ reason: 'DIRECTORY_UNAVAILABLE' }])
      },
      { port: proxy.port, poolSize: 5 },
    )
  })

  test('queries are answered, however many changes wait', async () => {
    await withDirectory(
      async (store) => {
        const held = Promise.withResolvers<void>()
        const changes = Array.from({ length: 20 }, (_, index) =>
          store.change('a test', async (change) => {
            await held.promise
            await change.createAccount(`account-${index}`)
          }),
        )
        expect(await store.records.account('account-0')).toBeUndefined()
        held.resolve()
        await Promise.all(changes)
        expect(await store.records.accounts({ after: '', size: 100 })).toHaveLength(20)
      },
      { poolSize: 2 },
    )
  })

  test('a change that takes longer than six of its statements may ends, and holds nothing then', async () => {
    await withDirectory(async (store) => {
      const endless = store.change('a test', async (change) => {
        await change.createAccount('half')
        for (;;) await change.records.account('half')
      })
      await expect(endless).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        cause: { message: `a change took longer than ${6 * CHANGE_TIMEOUT_MS} ms` },
      })
      await store.change('a test', (change) => change.createAccount('half'))
    })
  })

  test('a host that stops in the middle of a change does not hold what it is about for long', async () => {
    await withDirectory(async (stopped, _database, name) => {
      const begun = Promise.withResolvers<void>()
      const resumed = Promise.withResolvers<void>()
      const half = stopped.change('a test', async (change) => {
        await change.createAccount('half')
        begun.resolve()
        await resumed.promise
        await change.createAccount('the other half')
      })
      half.catch(() => {})
      await begun.promise
      const database = await open(server.url(name))
      const store = new DirectoryStore(database, Date.now)
      // A change waits until the server ends the other session, and may get an error that allows a retry.
      await eventuallyHolds(() => store.change('a test', (change) => change.createAccount('half')))
      resumed.resolve()
      await expect(half).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      expect((await store.records.accounts({ after: '', size: 10 })).map(({ account }) => account)).toEqual([
        'half',
      ])
      await database.close()
    })
  })
})

/** Searches everything that a log or a debugger could print of an error. */
function expectNoSecret(error: unknown): void {
  for (let each = error; each !== undefined; each = (each as { cause?: unknown }).cause) {
    const printed = [
      inspect(each, { depth: 20, showHidden: true }),
      JSON.stringify(each),
      String((each as Error).stack),
    ]
    for (const text of printed) expect(text).not.toContain(CANARY)
  }
}
