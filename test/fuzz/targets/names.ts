/** Names, addresses, URLs and routes, and headers that name them. */
import { isIP } from 'node:net'
import { isAllowed, overlap, readRange } from '../../../sidecar/authority/addresses.ts'
import { parseAddress } from '../../../sidecar/base/address.ts'
import { namesOfCertificate } from '../../../sidecar/base/certificate-name.ts'
import { type IpAddress, ipAddress, isNoAddress, networkOf } from '../../../sidecar/base/ip-address.ts'
import { readRequestTarget } from '../../../sidecar/base/request-target.ts'
import { escaped, isVisible } from '../../../sidecar/base/visible-text.ts'
import { compileRoutes } from '../../../sidecar/rules/routes/compile-routes.ts'
import { parseHost, parsePath } from '../../../sidecar/rules/routes/pattern.ts'
import { requestOf } from '../../../sidecar/rules/routes/written-request.ts'
import { CANONICAL_TARGETS, FOUND_ROWS, HOSTILE_TARGETS, ROUTES } from '../../support/inputs/paths.ts'
import { certificateWith } from '../certificates.ts'
import { fieldsIn, linesIn, promised, reading, type Target } from '../target.ts'

const { routes } = compileRoutes(ROUTES, undefined)

export const targets: readonly Target[] = [
  {
    name: 'request-target',
    seeds: [
      '/v1/AUTH_web/c?x=1',
      '/a%20b/%C3%A9',
      '/iam',
      ...[...CANONICAL_TARGETS, ...HOSTILE_TARGETS].map(([target]) => target),
    ],
    words: ['%2e', '%2F', '/../', '/./', '//', '%25', '%c0%af', ';', '\\', '?', '#'],
    run: (bytes) => {
      const url = bytes.toString('latin1')
      const reading = readRequestTarget(url)
      if (!reading.ok) return
      promised(reading.path + reading.query === url, 'a target is its path and its query')
      // The independent reader: every browser and server keeps a canonical path.
      const parsed = new URL(`http://host${url}`)
      promised(parsed.pathname === reading.path, 'URL has the same path')
      promised(
        parsed.search === reading.query || reading.query === '?' || /["'<>]/.test(reading.query),
        'URL has the same query',
      )
      const decoded = decodeURIComponent(reading.path)
      promised(decoded.split('/').length === reading.path.split('/').length, 'decoding adds no segment')
      promised(!/[\0-\x1f\x7f\\]/.test(decoded), 'decoding makes no control character and no backslash')
      promised(
        !decoded.split('/').some((segment) => segment === '.' || segment === '..'),
        'decoding makes no dot segment',
      )
    },
  },
  {
    name: 'routes',
    seeds: FOUND_ROWS.map(
      ({ method, host, target }) => `${method}\n${host ?? ''}\n${target}\nx-account:1\nx-project:web`,
    ),
    words: ['/iam', '/v2/', '/servers', 'AUTH_', 'x-account:', '%2e', '%E2%80%8B', '.json', ';x'],
    run: (bytes) => {
      const [method = '', host = '', target = '', ...lines] = linesIn(bytes)
      const headers = new Map(
        fieldsIn(Buffer.from(lines.join('\n'), 'latin1')).map(([name, value]) => [name.toLowerCase(), value]),
      )
      const match = routes?.match({
        method,
        host: host === '' ? undefined : host,
        target,
        header: (name) => headers.get(name),
      })
      promised(match !== undefined, 'every request has an answer')
      if (match.refused !== undefined) return
      promised(
        /^[A-Z][A-Z0-9_-]*$/.test(method) && readRequestTarget(target).ok,
        'only a canonical request has a route',
      )
      const { account, project } = match.target ?? { account: '1' }
      promised(account !== '' && project !== '', 'a target has no empty part')
      for (const part of [account, project ?? 'x'])
        promised(isVisible(part) && part.trim() === part, 'a target hides nothing')
      promised(
        new URL(`http://host${target}`).pathname
          .toLowerCase()
          .startsWith(literalStart(match.route.path.text).toLowerCase()),
        'URL agrees with the route',
      )
    },
  },
  {
    name: 'route-patterns',
    seeds: [
      '/v2/{account}/servers/\n*.example.com',
      '/a/{b}\n[::1]',
      '/\napi.example.com',
      'https://h/x\nGET',
    ],
    run: (bytes) => {
      const [path = '', host = ''] = linesIn(bytes)
      const pattern = parsePath(path)
      if (pattern !== undefined) {
        promised(
          pattern.text === path && pattern.below === path.endsWith('/'),
          'a pattern is as it is written',
        )
        const { routes: one, problems } = compileRoutes(
          [
            { path, host, api: 'a' },
            { path: '/', api: 'b' },
          ],
          undefined,
        )
        promised(
          (one === undefined) !== (problems === undefined),
          'routes are compiled, or their problems are named',
        )
        // The pattern of a path with texts alone is a path that it matches.
        if (one !== undefined && !path.includes('{') && !host.includes('*') && readRequestTarget(path).ok)
          promised(
            one.match({
              method: 'GET',
              host: host === '' ? undefined : host,
              target: path,
              header: () => undefined,
            }).refused === undefined,
            'a route has its own path',
          )
      }
      const read = parseHost(host)
      promised(read === undefined || read === '' || read === read.toLowerCase(), 'a host is in lower case')
      const request = requestOf('GET', path, new Map([['host', [host]]]))
      promised(
        path.includes(request.target) || request.target === `/${path}` || request.target.startsWith('/'),
        'a target is a part of the URL',
      )
    },
  },
  {
    name: 'certificate-names',
    seeds: [
      'DNS:a.example, IP Address:127.0.0.1, URI:spiffe://example/a, email:a@b.example, DNS:b.example',
      'URI:"http://a\\\\", DNS:admin.example, \\\\"", DNS:b.example',
      'DirName:"CN = a, DNS:admin.example"',
    ],
    words: ['DNS:', 'URI:', 'spiffe://', ', ', '"', '\\"', 'IP Address:', 'DirName:', 'othername:'],
    run: (bytes) => {
      const text = bytes.toString('latin1')
      const names = namesOfCertificate(text)
      promised(new Set(names).size === names.length, 'a name is there once')
      for (const name of names) {
        const [, type = '', value = ''] = /^(dns|uri):(.*)$/s.exec(name) ?? []
        const entry = `${type.toUpperCase()}:${value}`
        // Every name stands in the text between separators, outside of quotes.
        promised(
          text
            .split(', ')
            .some((each) =>
              type === 'dns'
                ? each.replace(/^DNS: ?/, 'DNS:').toLowerCase() === entry.toLowerCase()
                : each.replace(/^URI: ?/, 'URI:') === entry,
            ),
          'a name is an entry of the certificate',
        )
        promised(
          !/[",\\\s]/.test(value) && (type === 'uri' || !value.includes('*')),
          'a name has no separator, and a DNS name no wildcard',
        )
      }
      // A name that is added at the end hides none of those before it.
      const more = namesOfCertificate(text === '' ? 'DNS:added.example' : `${text}, DNS:added.example`)
      promised(more.length === 0 || names.every((name) => more.includes(name)), 'an added name hides none')
    },
  },
  {
    name: 'x509-names',
    seeds: [
      '\u0002worker.example\n\u0006spiffe://example/worker',
      '\u0006http://a, DNS:admin.example',
      '\u0001a@b.example\n\u0002*.example',
      '\u0002a\0.example',
    ],
    words: [', DNS:admin.example', '\n\u0002', '\n\u0006', '"', '\\\\', "'", 'spiffe://'],
    bytesMax: 512,
    run: (bytes) => {
      // A byte before each name is its type.
      const names = linesIn(bytes).map((line) => ({ type: line.charCodeAt(0) & 0x0f, value: line.slice(1) }))
      const subjectAltName = certificateWith(names)?.subjectAltName
      if (subjectAltName === undefined) return
      const found = namesOfCertificate(subjectAltName)
      const expected = names.flatMap(({ type, value }) =>
        type === 2 ? [`dns:${value.toLowerCase()}`] : type === 6 ? [`uri:${value}`] : [],
      )
      for (const name of found) promised(expected.includes(name), 'a name is one of the certificate')
      const plain = names.every(
        ({ type, value }) => (type === 2 || type === 6) && /^[a-z:/.]{1,60}$/.test(value),
      )
      if (plain)
        promised(
          expected.every(
            (name) =>
              found.some((each) => each === name) ||
              !/^dns:[a-z]+(\.[a-z]+)*$|^uri:[a-z]+:[a-z:/.]+$/.test(name),
          ),
          'a plain name is found',
        )
    },
  },
  {
    name: 'addresses',
    seeds: [
      '10.0.0.0/8\n10.1.2.3',
      '::ffff:10.0.0.0/104\n::ffff:10.1.2.3',
      '2001:db8::/32\n2001:db8::1',
      '0.0.0.0/0\n::1',
      '010.0.0.1/8\n1',
    ],
    run: (bytes) => {
      const [range = '', address = ''] = linesIn(bytes)
      const read = readRange(range)
      const one = ipAddress(address)
      if (one !== undefined) {
        networkOf(one)
        promised(isIP(one) !== 0 && ipAddress(one) === one, 'an address has one form')
        promised(!isNoAddress(address), 'an address is one')
        const bare = isIP(address) !== 0
        promised(
          bare || /^"?[\d.]+|^"?\[.+\]/.test(address),
          'around an address is a port, brackets or quotes',
        )
        promised(
          !bare || isIP(one) === isIP(address) || /ffff:/i.test(address),
          'IPv6 that is not mapped is not IPv4',
        )
      }
      if (!read.ok) return
      const again = readRange(read.range)
      promised(again.ok && again.range === read.range, 'a range has one form')
      promised(overlap(read.range, read.range), 'a range overlaps itself')
      const first = read.range.split('/')[0] as IpAddress
      promised(isAllowed(first, [read.range]), 'a range has its first address')
      promised(ipAddress(first) === first, 'and in its one form')
      const all = read.range.includes(':') ? '::/0' : '0.0.0.0/0'
      promised(isAllowed(first, [all]), 'a range is in the range of all')
    },
  },
  {
    name: 'listen-addresses',
    seeds: ['127.0.0.1:7443', '[::1]:0', 'unix:/run/x.sock', 'unix:///x', 'host:65536'],
    run: (bytes) => {
      const text = bytes.toString()
      const read = reading(() => parseAddress('key', text), Error)
      if (read?.type === 'tcp') {
        promised(Number.isInteger(read.port) && read.port >= 0 && read.port <= 65_535, 'a port is a port')
        promised(text.includes(read.host) && read.host !== '', 'a host is in the text')
      } else if (read !== undefined)
        promised(text.endsWith(read.path) && Buffer.byteLength(read.path) <= 107, 'a path fits')
    },
  },
  {
    name: 'visible-text',
    seeds: ['plain', 'a\u202eb', '\u200b', 'e\u0301', '\ud800'],
    run: (bytes) => {
      const text = bytes.toString()
      promised(isVisible(escaped(text)), 'an escaped text hides nothing')
      promised(!isVisible(text) || escaped(text) === text, 'a visible text stays as it is')
    },
  },
]

/** The beginning of every path of a route. */
function literalStart(pattern: string): string {
  return pattern.slice(0, pattern.includes('{') ? pattern.indexOf('{') : undefined).replace(/\/$/, '')
}
