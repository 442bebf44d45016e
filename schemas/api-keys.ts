// Bodies of /api-keys: credentials that services use instead of a login.
import { type Static, Type } from 'typebox'
import { PersonName } from './auth.ts'
import { choice, closed, Instant, instantText, object, orNull } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'
import { Groups } from './users.ts'
import { ROLES } from './vocabulary.ts'

export const ApiKeyParams = Type.Object({
  key_id: Type.String({ examples: ['key_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})

export const NewApiKeyBody = closed(
  'NewApiKeyBody',
  'Without `expires_at` the key is valid until it is deleted.',
  {
    name: PersonName,
    role: choice(ROLES, { examples: ['operator'] }),
    groups: Type.Optional(Groups),
    expires_at: Type.Optional(orNull(instantText('to come', '2030-03-01T18:00:00Z'))),
  },
)

const API_KEY_FIELDS = {
  id: Type.String({ examples: ['key_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  name: Type.String({ examples: ['Warehouse system'] }),
  role: choice(ROLES, { examples: ['operator'] }),
  groups: Groups,
  created_at: Instant,
  created_by: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  expires_at: orNull(Instant),
  last_used_at: orNull(Instant),
}
export const ApiKeyBody = object('ApiKey', API_KEY_FIELDS)
export type ApiKeyBody = Static<typeof ApiKeyBody>

export const NewApiKey = object('NewApiKey', {
  ...API_KEY_FIELDS,
  api_key: Type.String({
    description: 'The bearer token. It is shown in this answer only.',
    examples: ['flk_…'],
  }),
})

export const ApiKeyListQuery = closed(PAGE_QUERY)
export const ApiKeyPage = pageOf(ApiKeyBody, 'ApiKeyPage')
