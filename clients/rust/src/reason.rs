//! The reasons of decisions.

use std::fmt;

use crate::v1;

/// Says why a decision is as it is, in descending precedence. The contract (`decision.proto`) explains each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// A reason that this client does not know. It denies.
    #[default]
    Unspecified = 0,
    /// The API is not in the matrix.
    UnknownApi,
    /// No credential header, or an empty one.
    CredentialMissing,
    /// More than one credential.
    CredentialAmbiguous,
    /// The credential is too long, or has other characters than visible ASCII.
    CredentialMalformed,
    /// A token of one family is in the header of another family.
    WrongHeader,
    /// The credential is unknown or not genuine.
    CredentialInvalid,
    /// The token has expired.
    CredentialExpired,
    /// The token, its holder or the permission has ended.
    CredentialRevoked,
    /// The account restricts client addresses, and this address is not allowed.
    AddressNotAllowed,
    /// The kind of token is not in the matrix.
    UnknownTokenKind,
    /// The scope does not fit the kind of token.
    InvalidScope,
    /// The API does not accept this kind of token.
    TokenKindNotAccepted,
    /// Strict mode is on, and a conflict of the matrix is about this API and kind of token.
    Contested,
    /// The target belongs to another account.
    AccountMismatch,
    /// The target is in another project than the token, or in no project.
    ProjectMismatch,
    /// The only reason that lets a request pass.
    Allowed,
}

impl Reason {
    /// All of them, by their number.
    pub(crate) const ALL: [Reason; 17] = [
        Reason::Unspecified,
        Reason::UnknownApi,
        Reason::CredentialMissing,
        Reason::CredentialAmbiguous,
        Reason::CredentialMalformed,
        Reason::WrongHeader,
        Reason::CredentialInvalid,
        Reason::CredentialExpired,
        Reason::CredentialRevoked,
        Reason::AddressNotAllowed,
        Reason::UnknownTokenKind,
        Reason::InvalidScope,
        Reason::TokenKindNotAccepted,
        Reason::Contested,
        Reason::AccountMismatch,
        Reason::ProjectMismatch,
        Reason::Allowed,
    ];

    /// A number of the contract. One that is not known becomes [`Reason::Unspecified`].
    pub(crate) fn of(number: i32) -> Reason {
        usize::try_from(number).ok().and_then(|index| Reason::ALL.get(index).copied()).unwrap_or_default()
    }

    /// The name in the contract: `ACCOUNT_MISMATCH`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let name = v1::Reason::try_from(i32::from(self as u8)).unwrap_or_default().as_str_name();
        name.strip_prefix("REASON_").unwrap_or(name)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
