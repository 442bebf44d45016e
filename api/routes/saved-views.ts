// /views and /auth/me/preferences: what users save in the dashboard. A view grants no access: whoever opens it sees what
// their own role and groups allow.
import { LIMITS } from '../../engine/limits.ts'
import type { SavedView } from '../../engine/ports/users.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { toIso } from '../../schemas/ids.ts'
import {
  createView,
  deleteView,
  editView,
  getPreferences,
  getView,
  listViews,
  putPreferences,
} from '../../schemas/operations/saved-views.ts'
import type { ViewBody } from '../../schemas/saved-views.ts'
import type { Caller } from '../auth/caller.ts'
import { answer } from '../http/answer.ts'
import { parseIfMatch, quoted } from '../http/etag.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { createFor } from '../http/repeats.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { refused } from '../refusal.ts'

const NO_STORE = { 'cache-control': 'no-store' }

export function savedViewRoutes({ users, ids, clock }: Services): readonly Route[] {
  const visibleView = (id: string, user: Caller) => {
    const view = users.getView(id)
    return view !== undefined && (view.isShared || view.owner === user.id) ? view : undefined
  }

  /** The view as it is stored, even if an earlier request added it. Undefined if there is no room. */
  async function addView(view: SavedView): Promise<SavedView | undefined> {
    const known = users.getView(view.id)
    if (known !== undefined) return known
    return (await users.addView(view)) === 'added' ? view : undefined
  }

  return [
    route(listViews, async ({ user, query, url }) => {
      await users.catchUp()
      const found = users
        .listViews()
        .filter((view) => view.isShared || view.owner === user.id)
        .toSorted((a, b) => a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1))
      const window = toWindow(query)
      const page = found.slice(window.offset, window.offset + window.perPage).map(viewBody)
      return pageAnswer(page, found.length, window, url)
    }),
    route(createView, async ({ user, body, repeatKey }) => {
      if (user.email === undefined) return noPages()
      await users.catchUp()
      const { name, path, query = '', shared: isShared = false } = body
      const now = clock.now()
      const dates = { createdAt: now, updatedAt: now, revision: 1 }
      const wish = { owner: user.id, name: name.trim(), path, query, isShared, ...dates }
      const view = await createFor(
        repeatKey,
        { prefix: 'vw_', ids, clock },
        { create: (id) => addView({ id, ...wish }), createdAt: (made) => made?.createdAt },
      )
      if (view === undefined)
        return refused('LIMIT_REACHED', {
          message: 'delete views that are no longer used',
          limit: LIMITS.viewsPerUserMax,
        })
      return viewAnswer(view, 201, { location: `${listViews.path}/${view.id}` })
    }),
    route(getView, async ({ params, user }) => {
      await users.catchUp()
      const view = visibleView(params.view_id, user)
      return view === undefined ? viewNotFound() : viewAnswer(view, 200)
    }),
    route(editView, async ({ params, body, user, header }) => {
      await users.catchUp()
      const before = visibleView(params.view_id, user)
      if (before === undefined) return viewNotFound()
      if (before.owner !== user.id) return refused('FORBIDDEN', { message: 'the view is somebody else’s' })
      const { name = before.name, path = before.path, query = before.query, shared = before.isShared } = body
      const edited: { isStale: boolean } = { isStale: false }
      const view = await users.editView(params.view_id, (now) => {
        edited.isStale = parseIfMatch(header('if-match'), now.revision).kind === 'stale'
        const fields = { name: name.trim(), path, query, isShared: shared }
        return edited.isStale
          ? now
          : { ...now, ...fields, updatedAt: clock.now(), revision: now.revision + 1 }
      })
      if (view === undefined) return viewNotFound()
      if (edited.isStale)
        return refused('PRECONDITION_FAILED', { message: `the view has the etag ${etagOf(view)} now` })
      return viewAnswer(view, 200)
    }),
    route(deleteView, async ({ params, user }) => {
      await users.catchUp()
      const view = visibleView(params.view_id, user)
      if (view === undefined) return viewNotFound()
      if (view.owner !== user.id && user.role !== 'admin')
        return refused('FORBIDDEN', {
          message: 'the view is somebody else’s; its owner or an admin deletes it',
        })
      return (await users.removeView(view.id)) ? answer(204, undefined) : viewNotFound()
    }),
    route(getPreferences, async ({ user }) => {
      if (user.email === undefined) return noPages()
      await users.catchUp()
      return answer(200, users.getPreferences(user.id) ?? {}, NO_STORE)
    }),
    route(putPreferences, async ({ user, body }) => {
      if (user.email === undefined) return noPages()
      const actual = Buffer.byteLength(JSON.stringify(body))
      const limit = BODY_LIMITS.preferencesBytesMax
      if (actual > limit) return refused('PAYLOAD_TOO_LARGE', { limit, actual })
      if ((await users.putPreferences(user.id, body)) === 'full')
        return refused('LIMIT_REACHED', {
          message: 'the service keeps the preferences of no more users',
          limit: LIMITS.preferencesMax,
        })
      return answer(200, body, NO_STORE)
    }),
  ]
}

const etagOf = ({ revision }: SavedView) => quoted(String(revision))

function viewBody(view: SavedView): ViewBody {
  const { id, owner, name, path, query, isShared, createdAt, updatedAt } = view
  return {
    view_id: id,
    name,
    path,
    query,
    shared: isShared,
    owner,
    created_at: toIso(createdAt),
    updated_at: toIso(updatedAt),
    etag: etagOf(view),
  }
}

const viewAnswer = (view: SavedView, status: number, headers: Readonly<Record<string, string>> = {}) =>
  answer(status, viewBody(view), { ...headers, etag: etagOf(view) })

const viewNotFound = () => refused('NOT_FOUND', { message: 'no such view, or it is not shared with you' })
const noPages = () => refused('FORBIDDEN', { message: 'an API key has no pages; a person logs in' })
