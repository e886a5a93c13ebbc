/** The static tokens of a control panel user, as a hook: all of them. */
import { useCallback } from 'preact/hooks'
import { useApi } from '../context.tsx'
import { allPages, WHOLE_PAGE } from '../model/all-pages.ts'
import type { ApiKey } from '../model/keys.ts'
import { apiKeyOf, type Holder } from '../model/own.ts'
import { type Loaded, useLoaded } from './use-loaded.ts'

export function useApiKeys({ account, name: userName }: Holder): Loaded<readonly ApiKey[]> {
  const { directory } = useApi()
  return useLoaded(
    useCallback(
      (signal) =>
        allPages(async (pageToken) => {
          const request = { account, userName, pageSize: WHOLE_PAGE, pageToken }
          const { tokens, nextPageToken } = await directory.listStaticTokens(request, { signal })
          return { rows: tokens.map(apiKeyOf), nextPageToken }
        }),
      [directory, account, userName],
    ),
  )
}
