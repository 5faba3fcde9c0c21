//! Items of the standard library's prelude that `core`'s lacks: from `alloc` and, without the standard library,
//! floating-point functions.

pub(crate) use alloc::borrow::ToOwned;
pub(crate) use alloc::format;
pub(crate) use alloc::string::{String, ToString};
pub(crate) use alloc::vec;
pub(crate) use alloc::vec::Vec;

#[cfg(not(feature = "std"))]
pub use real::Real;

/// The methods of `f64` that the standard library adds, from `libm`.
#[cfg(not(feature = "std"))]
#[allow(missing_docs)] // hidden
mod real {
    macro_rules! real {
        ($($name:ident = $function:ident),*) => {
            pub trait Real {
                $(fn $name(self) -> f64;)*
                fn powf(self, exponent: f64) -> f64;
                fn powi(self, exponent: i32) -> f64;
            }

            impl Real for f64 {
                $(fn $name(self) -> f64 {
                    libm::$function(self)
                })*

                fn powf(self, exponent: f64) -> f64 {
                    libm::pow(self, exponent)
                }

                /// By squaring, as the compiler does: halves of a power of two stay exact.
                fn powi(self, exponent: i32) -> f64 {
                    let (mut power, mut base, mut left) = (1.0, self, exponent.unsigned_abs());
                    while left > 0 {
                        power *= if left % 2 == 1 { base } else { 1.0 };
                        base *= base;
                        left /= 2;
                    }
                    if exponent < 0 { 1.0 / power } else { power }
                }
            }
        };
    }

    real! {
        ceil = ceil, exp = exp, exp2 = exp2, exp_m1 = expm1, floor = floor,
        ln = log, ln_1p = log1p, log2 = log2, round = round, sqrt = sqrt
    }
}
