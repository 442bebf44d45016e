// /api-keys: an admin creates keys with which services access the API.
import type { ApiKey } from '../../engine/ports/users.ts'
import type { ApiKeyBody } from '../../schemas/api-keys.ts'
import { toIso, UserId } from '../../schemas/ids.ts'
import { parseInstant } from '../../schemas/instant-text.ts'
import { API } from '../../schemas/operation.ts'
import { createApiKey, deleteApiKey, getApiKey, listApiKeys } from '../../schemas/operations/api-keys.ts'
import { API_KEY_FORMAT } from '../auth/api-keys.ts'
import { isoOrNull } from '../bodies/iso-or-null.ts'
import { answer } from '../http/answer.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { idFor } from '../http/repeats.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { invalid, refused } from '../refusal.ts'

export function apiKeyRoutes({ apiKeys, clock, ids, users }: Services): readonly Route[] {
  return [
    route(createApiKey, async ({ body, user, repeatKey }) => {
      const expiresAt = body.expires_at == null ? undefined : parseInstant(body.expires_at, clock.now())
      if (body.expires_at != null && (expiresAt === undefined || expiresAt <= clock.now()))
        return invalid('/expires_at', {
          code: 'OUT_OF_RANGE',
          message: 'must be a time to come',
        })
      const { name, role, groups = [] } = body
      const wantedId = repeatKey && idFor(repeatKey, API_KEY_FORMAT.idPrefix, ids)
      const created = await apiKeys.create({ name: name.trim(), role, groups, expiresAt }, user.id, wantedId)
      if (created.kind === 'refused') return created
      const headers = { 'cache-control': 'no-store', location: `${API}/api-keys/${created.key.id}` }
      return answer(201, { ...apiKeyBody(created.key), api_key: created.token }, headers)
    }),
    route(listApiKeys, async ({ query, url }) => {
      await users.catchUp()
      const found = users.listKeys().toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
      const window = toWindow(query)
      const page = found.slice(window.offset, window.offset + window.perPage).map(apiKeyBody)
      return pageAnswer(page, found.length, window, url)
    }),
    route(getApiKey, async ({ params }) => {
      await users.catchUp()
      const key = users.getKey(UserId(params.key_id))
      return key === undefined ? keyNotFound() : answer(200, apiKeyBody(key))
    }),
    route(deleteApiKey, async ({ params }) => {
      const isRemoved = await apiKeys.remove(UserId(params.key_id))
      return isRemoved ? answer(204, undefined) : keyNotFound()
    }),
  ]
}

function apiKeyBody(key: ApiKey): ApiKeyBody {
  return {
    id: key.id,
    name: key.name,
    role: key.role,
    groups: [...key.groups],
    created_at: toIso(key.createdAt),
    created_by: key.createdBy,
    expires_at: isoOrNull(key.expiresAt),
    last_used_at: isoOrNull(key.lastUsedAt),
  }
}

const keyNotFound = () => refused('NOT_FOUND', { message: 'no such API key' })
