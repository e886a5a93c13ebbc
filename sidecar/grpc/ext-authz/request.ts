/**
 * Reads what Envoy asks, field by field. It reads what a decision depends on and skips the rest, for example the body, which a client
 * can make as long as the proxy allows.
 */
import { invalidArgument } from '../../base/call-error.ts'
import { Fields } from '../fields.ts'
import { notAMessage } from '../handler.ts'
import {
  ADDRESS,
  ATTRIBUTE_CONTEXT,
  CHECK_REQUEST,
  FIELDS_ENTRY,
  HEADER_MAP,
  HEADER_VALUE,
  HTTP_REQUEST,
  PEER,
  REQUEST,
  SOCKET_ADDRESS,
} from './field-numbers.ts'

type Pair = readonly [name: string, value: string]

/** What Envoy asks about a request. */
export interface Asked {
  /** What Envoy's operator says about the route. */
  readonly context: Pair[]
  /**
   * The headers of the request, of both fields that can carry them: a credential that is in both is ambiguous. One character for each
   * byte, because a credential is ASCII, and one that is not must not become one.
   */
  readonly headers: Pair[]
  /** Address that Envoy got the request from; empty: it is no IP address. */
  peer: string
}

/** Most headers of a request. Each takes only two bytes, so millions of them would fit into a message. */
const HEADERS_MAX = 10_000

/** There are fewer names than this that mean something. */
const CONTEXT_MAX = 100

/** @throws CallError if the bytes are not such a message */
export function readAsked(bytes: Buffer): Asked {
  const asked: Asked = { context: [], headers: [], peer: '' }
  const fields = new Fields(bytes)
  try {
    while (fields.next())
      if (fields.number === CHECK_REQUEST.attributes) readAttributes(fields, asked)
      else fields.skip()
  } catch (error) {
    throw notAMessage(error)
  }
  return asked
}

// A message that is there twice is merged, as protobuf has it: headers and names add up, and none hides another.

function readAttributes(fields: Fields, asked: Asked): void {
  const end = fields.enter()
  while (fields.next()) {
    const { number } = fields
    if (number === ATTRIBUTE_CONTEXT.request) readRequest(fields, asked)
    else if (number === ATTRIBUTE_CONTEXT.source) readPeer(fields, asked)
    else if (number === ATTRIBUTE_CONTEXT.contextExtensions) readContext(fields, asked)
    else fields.skip()
  }
  fields.leave(end)
}

function readPeer(fields: Fields, asked: Asked): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === PEER.address) readAddress(fields, asked)
    else fields.skip()
  fields.leave(end)
}

function readAddress(fields: Fields, asked: Asked): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === ADDRESS.socketAddress) readSocketAddress(fields, asked)
    else fields.skip()
  fields.leave(end)
}

function readSocketAddress(fields: Fields, asked: Asked): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === SOCKET_ADDRESS.address) asked.peer = fields.text()
    else fields.skip()
  fields.leave(end)
}

function readContext(fields: Fields, { context }: Asked): void {
  if (context.length === CONTEXT_MAX)
    throw invalidArgument({
      field: 'attributes.context_extensions',
      expected: `at most ${CONTEXT_MAX} names`,
    })
  let key = ''
  let value = ''
  const end = fields.enter()
  while (fields.next())
    if (fields.number === FIELDS_ENTRY.key) key = fields.text()
    else if (fields.number === FIELDS_ENTRY.value) value = fields.text()
    else fields.skip()
  fields.leave(end)
  context.push([key, value])
}

function readRequest(fields: Fields, asked: Asked): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === REQUEST.http) readHttp(fields, asked)
    else fields.skip()
  fields.leave(end)
}

function readHttp(fields: Fields, asked: Asked): void {
  const end = fields.enter()
  while (fields.next()) {
    const { number } = fields
    // An entry of the map has the fields of a `HeaderValue`.
    if (number === HTTP_REQUEST.headers) readHeader(fields, asked)
    else if (number === HTTP_REQUEST.headerMap) readHeaderMap(fields, asked)
    else fields.skip()
  }
  fields.leave(end)
}

function readHeaderMap(fields: Fields, asked: Asked): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === HEADER_MAP.headers) readHeader(fields, asked)
    else fields.skip()
  fields.leave(end)
}

function readHeader(fields: Fields, { headers }: Asked): void {
  if (headers.length >= HEADERS_MAX)
    throw invalidArgument({
      field: 'attributes.request.http.headers',
      expected: `at most ${HEADERS_MAX} headers`,
    })
  let key = ''
  let value = ''
  let rawValue = ''
  const end = fields.enter()
  while (fields.next()) {
    const { number } = fields
    if (number === HEADER_VALUE.key) key = fields.characters()
    else if (number === HEADER_VALUE.value) value = fields.characters()
    else if (number === HEADER_VALUE.rawValue) rawValue = fields.characters()
    else fields.skip()
  }
  fields.leave(end)
  headers.push([key, rawValue === '' ? value : rawValue])
  if (value !== '' && rawValue !== '') headers.push([key, value])
}
