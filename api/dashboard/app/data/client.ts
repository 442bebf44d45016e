// The typed client of the service, with the session of the page as its source of tokens.
import { createClient } from '../../../../schemas/client.ts'
import { noteBuild } from './build.ts'
import { accessToken, heldToken, tokenInstead } from './session.ts'

export { ConnectionError, RefusalError } from '../../../../schemas/client.ts'

export const fleet = createClient({
  baseUrl: location.origin,
  tokens: { held: heldToken, current: accessToken, instead: tokenInstead },
  fetch: async (...given) => {
    const response = await fetch(...given)
    noteBuild(response.headers)
    return response
  },
})
