// /auth: registration, login and its renewal, and device tokens.

import { LIMITS } from '../../engine/limits.ts'
import type { User } from '../../engine/ports/users.ts'
import type { Login, RegisteredUser } from '../../schemas/auth.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { parseDeviceId, toIso } from '../../schemas/ids.ts'
import { API } from '../../schemas/operation.ts'
import {
  editMe,
  issueDeviceToken,
  issueDownloadTicket,
  issueSocketTicket,
  listPublicKeys,
  login,
  logout,
  me,
  refresh,
  register,
  renewDeviceToken,
  revokeDeviceTokens,
} from '../../schemas/operations/auth.ts'
import { renewToken } from '../auth/device-renewal.ts'
import { loginOrigin } from '../auth/login-origin.ts'
import type { OpenedLogin } from '../auth/logins.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { deviceNotFound, visibleDeviceId } from '../auth/visible-device.ts'
import { type Answer, answer } from '../http/answer.ts'
import { asRequested, isFileAddress, withTicket } from '../http/download-address.ts'
import { bearerOf } from '../http/gate.ts'
import { type Route, route } from '../http/route.ts'
import { plainUrl } from '../http/route-match.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, refused } from '../refusal.ts'
import { meBody } from './me-body.ts'

const NO_STORE = { 'cache-control': 'no-store' }
/** Clients may cache the keys only briefly, because a new key is used at once. */
const PUBLIC = { 'cache-control': 'public, max-age=300' }

export function authRoutes({
  accounts,
  engine,
  tokens,
  tickets,
  downloadTickets,
}: Services): readonly Route[] {
  return [
    route(register, async ({ body, authenticate, isLocal, ip }) => {
      const result = await accounts.register(body, { authenticate, isLocal, ip })
      if (result.kind === 'refused') return result
      const { id } = result.user
      return answer(201, registeredBody(result.user), { ...NO_STORE, location: `${API}/users/${id}` })
    }),
    route(login, async ({ body, ip, header, isLocal }) => {
      const from = loginOrigin(ip, header)
      const { email, password } = body
      const result = await accounts.login({ email, password, from, isLocal })
      return result.kind === 'refused' ? result : loginAnswer(result)
    }),
    route(refresh, async ({ body, ip, header }) => {
      const use = { from: loginOrigin(ip, header), isBrowser: false }
      const result = await accounts.logins.renew(body.refresh_token, use)
      return result.kind === 'refused' ? result : loginAnswer(result)
    }),
    route(logout, async ({ user, body }) => {
      if (user.email === undefined) return noLogin()
      await accounts.logout(user.id, body?.refresh_token)
      return answer(204, undefined)
    }),
    route(me, ({ user }) => answer(200, meBody(user), NO_STORE)),
    route(editMe, async ({ user, body }) => {
      if (user.email === undefined) return noLogin()
      const edited = await accounts.editOwn(user.id, body)
      return edited.kind === 'refused' ? edited : answer(200, meBody(edited.user), NO_STORE)
    }),
    route(listPublicKeys, () => answer(200, { keys: tokens.publicKeys }, PUBLIC)),
    route(issueDeviceToken, async ({ body, user, sign }) => {
      const { scopes, ttl_hours: hours = BODY_LIMITS.deviceTokenHoursDefault, ttl_sec: ttlSec } = body
      const deviceId = parseDeviceId(body.device_id)
      const device = deviceId === undefined ? undefined : engine.devices.get(deviceId)
      if (deviceId === undefined || device === undefined || !isInScope(device.group, scopeOf(user)))
        return refused('NOT_FOUND', { message: 'no such device' })
      if (device.status === 'decommissioned') return refused('DEVICE_DECOMMISSIONED', { device_id: deviceId })
      const revoked =
        body.revoke_previous === true ? await engine.submit(deviceId, { kind: 'revoke' }, sign()) : undefined
      if (revoked?.kind === 'refused') return revoked
      const { token, expiresAt } = await tokens.issueDevice({
        deviceId,
        validFrom: (revoked?.view.device ?? device).tokensValidFrom,
        ttlSec: ttlSec ?? hours * 3600,
        scopes,
      })
      const issued = { device_id: deviceId, mqtt_token: token, expires_at: toIso(expiresAt) }
      return answer(200, issued, NO_STORE)
    }),
    route(renewDeviceToken, async ({ body }) => {
      const renewed = await renewToken({ tokens, devices: engine.devices }, body.mqtt_token, body.ttl_sec)
      if (renewed.kind === 'void')
        return refused('UNAUTHENTICATED', {
          message: 'the token is not one of a registered device, or is void',
        })
      const { token, expiresAt } = renewed.issued
      const issued = { device_id: renewed.deviceId, mqtt_token: token, expires_at: toIso(expiresAt) }
      return answer(200, issued, NO_STORE)
    }),
    route(revokeDeviceTokens, async ({ params, user, sign }) => {
      const deviceId = visibleDeviceId(engine, params.device_id, user)
      if (deviceId === undefined) return deviceNotFound()
      const revoked = await engine.submit(deviceId, { kind: 'revoke' }, sign())
      if (revoked.kind === 'refused') return revoked
      const { tokensValidFrom } = revoked.view.device
      return answer(200, { device_id: deviceId, tokens_valid_from: toIso(tokensValidFrom) }, NO_STORE)
    }),
    route(issueSocketTicket, async ({ user, header }) => {
      const ticket = await tickets.issue(user.id, bearerOf(header('authorization')) ?? '')
      if (ticket === undefined) return tooManyTickets()
      return answer(200, { ticket, expires_in: LIMITS.ticketMs / 1000 }, NO_STORE)
    }),
    route(issueDownloadTicket, async ({ user, body, header }) => {
      const path = plainUrl(asRequested(body.path))
      if (!isFileAddress(path))
        return invalid('/path', { code: 'NOT_ALLOWED', message: 'there is no such file' })
      const ticket = await downloadTickets.issue(user.id, bearerOf(header('authorization')) ?? '', path)
      if (ticket === undefined) return tooManyTickets()
      return answer(200, { url: withTicket(path, ticket), expires_in: LIMITS.ticketMs / 1000 }, NO_STORE)
    }),
  ]
}

function loginAnswer({ userId, accessToken, refreshToken }: OpenedLogin): Answer {
  const body: Login = {
    access_token: accessToken,
    refresh_token: refreshToken,
    token_type: 'bearer',
    expires_in: API_LIMITS.accessTokenSec,
  }
  return { ...answer(200, body, NO_STORE), userId }
}

function registeredBody({ id, email, name, role, createdAt }: User): RegisteredUser {
  return { id, email, name, role, created_at: toIso(createdAt) }
}

const tooManyTickets = () =>
  refused('RATE_LIMIT_EXCEEDED', {
    message: 'too many tickets are open; use one, or wait until they expire',
    retry_after_sec: 1,
  })

const noLogin = () =>
  refused('FORBIDDEN', { message: 'an API key has no login; an admin changes or deletes it' })
