/** The tag with which each email carries the id of its job to SES, which repeats it in its events. */
export const MAIL_TAG = 'job'
