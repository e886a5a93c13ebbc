/** The attributes of the process in its spans and lines of the decision log. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { packageVersion } from '../base/package.ts'

/** The same for both, so that a backend joins them. */
export const RESOURCE: Readonly<Record<string, string>> = {
  'service.name': 'portcullis',
  'service.version': packageVersion,
  'service.instance.id': randomUUID(),
  'host.name': hostname(),
}
