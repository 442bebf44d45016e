/** Where the REST API begins, for the few requests that the typed client cannot make. */
export const API = '/api/v1'
