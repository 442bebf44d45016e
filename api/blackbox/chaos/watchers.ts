// The listeners of a run: the admin, who may see everything, and a viewer of one group.
import type { Random } from '../../../engine/edge/simulator/roaming/random.ts'
import { type ApiNode, ask, type Request } from './client.ts'
import type { Recorder } from './recording.ts'
import { Watcher } from './watcher.ts'

const VIEWER = { email: 'viewer@example.com', password: 'only looks at one group' } as const

export interface WatchersOptions {
  /** The access token of an admin. */
  readonly token: string
  readonly nodes: readonly ApiNode[]
  readonly recorder: Recorder
  readonly dice: Random
  /** The group that the viewer may see. */
  readonly group: string
}

/** Resolves with listeners at work. */
export async function openWatchers(options: WatchersOptions): Promise<readonly Watcher[]> {
  const { token, nodes, recorder, dice, group } = options
  const about = { nodes, recorder, dice }
  const watchers = [
    new Watcher({ ...about, name: 'admin', token, groups: [], forbidden: [] }),
    new Watcher({
      ...{ ...about, name: 'viewer', token: await openViewer(options), groups: [group] },
      forbidden: ['commands'],
    }),
  ]
  for (const watcher of watchers) void watcher.run()
  return watchers
}

async function openViewer({ token: admin, nodes, group }: WatchersOptions): Promise<string> {
  const [node] = nodes
  const call = async (token: string, request: Request) => {
    const { status, body, text } = await ask(node?.url() ?? '', token, request)
    if (status >= 300) throw new Error(`${request.path}: ${status} ${text}`)
    return body
  }
  const enter = async () => {
    const { access_token: token } = await call('', { method: 'POST', path: '/auth/login', body: VIEWER })
    return String(token)
  }
  await call('', {
    method: 'POST',
    path: '/auth/register',
    body: { ...VIEWER, name: 'Viewer', role: 'viewer' },
  })
  const { id } = await call(await enter(), { method: 'GET', path: '/auth/me' })
  await call(admin, { method: 'PATCH', path: `/users/${id}`, body: { groups: [group] } })
  return await enter()
}
