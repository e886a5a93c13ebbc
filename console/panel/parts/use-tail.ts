/** Listens to decisions for as long as its page is there, and shows what came once a frame. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useApi } from '../context.tsx'
import { type ApiError, apiErrorOf, GIVEN_UP } from '../model/errors.ts'
import { type Facts, Lines, pauseBefore, Tail, toldBy } from '../model/tail.ts'

type Connection = 'connecting' | 'listening' | 'waiting' | 'off' | 'refused'

export interface Listened {
  readonly tail: Tail
  readonly connection: Connection
  readonly facts: Facts | undefined
  /** Why it was refused. */
  readonly problem: ApiError | undefined
  /** Draws what the tail has now. */
  readonly draw: () => void
}

export function useTail(): Listened {
  const { operator } = useApi()
  const tail = useMemo(() => new Tail(), [])
  const [connection, setConnection] = useState<Connection>('connecting')
  const [facts, setFacts] = useState<Facts | undefined>(undefined)
  const [problem, setProblem] = useState<ApiError | undefined>(undefined)
  const { draw, drawSoon } = useFrames(tail)

  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const take = (line: string) => {
      const told = toldBy(line)
      if (told?.type === 'decision') tail.add(told.decision)
      else if (told?.type === 'missed') tail.missed(told.count)
      else if (told?.type === 'listening') setFacts(told.facts)
    }
    const listen = async () => {
      for (let failures = 0; !signal.aborted; failures++) {
        try {
          const response = await operator.decisions(signal)
          setConnection('listening')
          failures = 0
          await readLines(response, take, drawSoon)
        } catch (error) {
          if (signal.aborted) return
          const found = error instanceof TypeError ? undefined : apiErrorOf(error)
          if (found !== undefined && isFinal(found)) {
            setProblem(found)
            setConnection(found.reason === 'NOT_FOUND' ? 'off' : 'refused')
            return
          }
        }
        if (signal.aborted) return
        setConnection('waiting')
        await waited(pauseBefore(failures), signal)
      }
    }
    void listen()
    return () => leaving.abort()
  }, [operator, tail, drawSoon])
  return { tail, connection, facts, problem, draw }
}

/** Asking again would be answered with the same. */
function isFinal({ status, reason }: ApiError): boolean {
  return reason === GIVEN_UP || (status >= 400 && status < 500 && status !== 429)
}

async function readLines({ body }: Response, take: (line: string) => void, taken: () => void): Promise<void> {
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  const lines = new Lines()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    for (const line of lines.add(value)) take(line)
    taken()
  }
}

/** However much comes, it is drawn once a frame. */
function useFrames(tail: Tail) {
  const [, setDrawn] = useState(0)
  const frame = useRef<number | undefined>(undefined)
  const draw = useCallback(() => setDrawn((drawn) => drawn + 1), [])
  const drawSoon = useCallback(() => {
    frame.current ??= requestAnimationFrame(() => {
      frame.current = undefined
      // While it is paused, the number of new entries changes.
      if (tail.show() || tail.paused) draw()
    })
  }, [tail, draw])
  useEffect(
    () => () => {
      if (frame.current !== undefined) cancelAnimationFrame(frame.current)
    },
    [],
  )
  return { draw, drawSoon }
}

function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
